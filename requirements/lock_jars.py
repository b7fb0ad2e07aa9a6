"""Write streams/embedded/*.lock and bench/mirror.lock: what Maven resolves for the embedded broker,
for Spark, and for the MirrorMaker 2 that a benchmark compares with.

Part of `make lock`. On a user's machine nothing is resolved: exactly the locked files are fetched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import jgo
from jgo.maven import Artifact, MavenContext

from streams.embedded import KAFKA_VERSION, SPARK_VERSION

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ROOT / "streams" / "embedded"
# slf4j 2 would not be picked up by Kafka's slf4j-api 1.7.
LOGGING = "org.slf4j:slf4j-simple:1.7.36"
KAFKA = f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}+{LOGGING}"
MIRROR = f"org.apache.kafka:connect-mirror:4.3.1+{LOGGING}"
# Not what Maven resolves: that brings a second Hadoop client of 50 MB beside pyspark's own.
SPARK = (
    f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}",
    f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{SPARK_VERSION}",
    f"org.apache.spark:spark-avro_2.13:{SPARK_VERSION}",
    # The connector names 3.9.0, which has known vulnerabilities (advisories.toml).
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.12.0",
)


def write(folder: Path, name: str, title: str, artifacts: Iterable[Artifact]) -> None:
    """Write one lock file."""
    rows = [f"# {title}: SHA-256 and Maven coordinate. Written by `make lock`."]
    for artifact in sorted(artifacts, key=str):
        digest = hashlib.sha256(Path(artifact.resolve()).read_bytes()).hexdigest()
        rows.append(f"{digest}  {artifact.groupId}:{artifact.artifactId}:{artifact.version}")
    (folder / f"{name}.lock").write_text("\n".join(rows) + "\n", encoding="utf-8")


def exactly(coordinate: str) -> Artifact:
    """Return one artifact without what it depends on."""
    group, artifact, version = coordinate.split(":")
    return MavenContext(timeout=60).project(group, artifact).at_version(version).artifact()


write(SHIPPED, "kafka", "The jars of the embedded broker", jgo.resolve(KAFKA))
write(ROOT / "bench", "mirror", "The jars of MirrorMaker 2", jgo.resolve(MIRROR))
CONNECTORS = "Spark's connectors for Kafka and Avro, beside pyspark"
write(SHIPPED, "spark", CONNECTORS, map(exactly, SPARK))
