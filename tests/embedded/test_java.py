"""Which Java is taken, and the error when none is usable."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.embedded import find_java
from streams.errors import SurroundingsError

from .fakes import fake_java, no_java


@pytest.mark.parametrize(
    ("output", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "21" 2023-09-19 LTS', 21),
        ('openjdk version "26-ea" 2026-03-17', 26),
    ],
)
def test_the_java_on_the_path_is_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str, major: int
) -> None:
    path = fake_java(monkeypatch, tmp_path, output)
    java = find_java()
    assert (java.path, java.major) == (path, major)


def test_java_home_comes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    path = fake_java(monkeypatch, tmp_path / "bin", 'openjdk version "17.0.1"')
    no_java(monkeypatch, tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java().path == path


def test_a_missing_java_is_one_sentence_and_a_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    no_java(monkeypatch, tmp_path)
    with pytest.raises(SurroundingsError, match="Java was not found") as caught:
        find_java()
    assert "17 or newer" in caught.value.remedy


def test_a_java_home_without_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SurroundingsError, match=f"JAVA_HOME is {tmp_path}"):
        find_java()


@pytest.mark.parametrize("version", ["1.8.0_372", "11.0.20", "16.0.2"])
def test_an_old_java_is_refused_with_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str
) -> None:
    fake_java(monkeypatch, tmp_path, f'openjdk version "{version}"')
    with pytest.raises(SurroundingsError, match=f"is version {version}, but Kafka needs 17"):
        find_java()


def test_a_java_that_is_a_stub_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(monkeypatch, tmp_path, "Unable to locate a Java Runtime.", code=1)
    with pytest.raises(SurroundingsError, match="does not report its version"):
        find_java()
