"""The jars of Kafka's broker, and of the Spark connectors that pyspark lacks.

Each set is locked by a file next to this module, with one line per jar: its SHA-256 and its Maven
coordinate. No versions are resolved on a user's machine: the user gets exactly these files, or an
error.
"""

from __future__ import annotations

import os
from pathlib import Path

from streams.embedded.cache import cache_dir
from streams.embedded.locked import Jar, locked
from streams.errors import SurroundingsError

KAFKA_VERSION = "4.2.2"
"""The newest version that ends all transactions after a kill (docs/decisions/0018)."""
SPARK_VERSION = "4.0.0"
"""The version of pyspark, which a test checks. docs/decisions/0032 explains why it is not 4.1.1."""


def kafka_jars() -> tuple[Path, ...]:
    """Return the broker's class path: jars of ``KAFKA_HOME``, or the locked jars, fetched once."""
    home = os.environ.get("KAFKA_HOME")
    if home:
        return _jars_of_home(Path(home))
    return ensure(f"kafka-{KAFKA_VERSION}", locked("kafka"))


def spark_jars() -> tuple[Path, ...]:
    """Return the jars for ``spark.jars``: Kafka and Avro connectors of Spark, fetched once."""
    return ensure(f"spark-{SPARK_VERSION}", locked("spark"))


def ensure(name: str, jars: tuple[Jar, ...]) -> tuple[Path, ...]:
    """Return the locked jars from the cache folder with this name; fetch missing jars."""
    folder = cache_dir() / name
    missing = tuple(jar for jar in jars if not (folder / jar.file).is_file())
    if missing:
        from streams.embedded.fetch import fetch  # jgo is loaded only when something is missing

        fetch(missing, folder)
    return tuple(folder / jar.file for jar in jars)


def _jars_of_home(home: Path) -> tuple[Path, ...]:
    libs = tuple(sorted((home / "libs").glob("*.jar")))
    if not any(jar.name.startswith("kafka_2.13-") for jar in libs):
        raise SurroundingsError(
            f"KAFKA_HOME is {home}, but {home / 'libs'} has no Kafka broker.",
            "Set it to the folder of an unpacked Kafka 4 distribution, or unset it.",
        )
    return libs
