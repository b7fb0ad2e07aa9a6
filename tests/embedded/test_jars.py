"""Exactly the locked jars, from the local repository, a mirror or KAFKA_HOME; or a clear error."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path

import pytest

from streams.embedded import KAFKA_VERSION, SPARK_VERSION, kafka_jars, spark_jars
from streams.embedded.fetch import fetch
from streams.embedded.locked import Jar, locked
from streams.errors import SurroundingsError

CONTENT = b"not really a jar"
JAR = Jar(hashlib.sha256(CONTENT).hexdigest(), "org.example", "thing", "1.0")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Serve a folder as the Maven repository, and leave the local repository empty."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HOPLINE_MAVEN", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("M2_REPO", str(tmp_path / "local"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield folder
    server.shutdown()
    server.server_close()


def put(repository: Path, content: bytes) -> None:
    path = repository / "org" / "example" / "thing" / "1.0" / JAR.file
    path.parent.mkdir(parents=True)
    path.write_bytes(content)


def test_a_jar_is_fetched_from_the_repository(mirror: Path, tmp_path: Path) -> None:
    put(mirror, CONTENT)
    fetch((JAR,), tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["thing-1.0.jar"]
    assert not (tmp_path / "local").exists()


def test_a_mirror_without_a_name_is_none(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image's build has the variable also where nobody has named one."""
    put(mirror, CONTENT)
    monkeypatch.setattr("streams.embedded.fetch.MAVEN_CENTRAL_URL", os.environ["HOPLINE_MAVEN"])
    monkeypatch.setenv("HOPLINE_MAVEN", "")
    fetch((JAR,), tmp_path / "cache")
    assert (tmp_path / "cache" / JAR.file).read_bytes() == CONTENT


def test_the_local_repository_is_read_first(mirror: Path, tmp_path: Path) -> None:
    put(tmp_path / "local", CONTENT)
    fetch((JAR,), tmp_path / "cache")
    assert (tmp_path / "cache" / JAR.file).read_bytes() == CONTENT


def test_a_broken_jar_in_the_local_repository_is_passed_over(mirror: Path, tmp_path: Path) -> None:
    put(tmp_path / "local", CONTENT[:3])
    put(mirror, CONTENT)
    fetch((JAR,), tmp_path / "cache")
    assert (tmp_path / "cache" / JAR.file).read_bytes() == CONTENT


def test_another_file_than_the_locked_one_is_refused(mirror: Path, tmp_path: Path) -> None:
    put(mirror, b"something else")
    with pytest.raises(
        SurroundingsError, match=r"thing:1\.0: the file's SHA-256 differs from the locked one"
    ):
        fetch((JAR,), tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_the_error_for_an_unavailable_jar_names_the_alternatives(
    mirror: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        SurroundingsError, match=r"Could not fetch org\.example:thing:1\.0"
    ) as caught:
        fetch((JAR,), tmp_path / "cache")
    assert "HOPLINE_MAVEN" in caught.value.remedy
    assert "KAFKA_HOME" in caught.value.remedy


def test_the_broker_and_a_logging_backend_are_locked() -> None:
    coordinates = {jar.coordinate for jar in locked("kafka")}
    assert f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}" in coordinates
    assert "org.slf4j:slf4j-simple:1.7.36" in coordinates


def test_the_connectors_have_the_version_of_pyspark() -> None:
    assert metadata.version("pyspark") == SPARK_VERSION
    connectors = [jar for jar in locked("spark") if jar.group == "org.apache.spark"]
    assert [jar.version for jar in connectors] == [SPARK_VERSION] * 3


def test_sparks_jars_are_there() -> None:
    assert len(spark_jars()) == 5
    assert all(jar.is_file() for jar in spark_jars())


def test_kafka_home_comes_before_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "libs").mkdir()
    jar = tmp_path / "libs" / "kafka_2.13-4.2.0.jar"
    jar.touch()
    monkeypatch.setenv("KAFKA_HOME", str(tmp_path))
    assert kafka_jars() == (jar,)


def test_a_kafka_home_without_a_broker_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KAFKA_HOME", str(tmp_path))
    with pytest.raises(SurroundingsError, match="has no Kafka broker"):
        kafka_jars()
