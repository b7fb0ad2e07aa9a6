"""What each image is made of beside Hopline: Python packages, jars, and the jars inside pyspark."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from requirements.wanted import Locked, wanted
from streams.embedded.locked import Jar, locked

IMAGES = {"worker": ("run", "postgres"), "spark": ("run", "postgres", "monitor")}
"""The extras of each image. A test compares them with the Dockerfile."""
JARS: dict[str, tuple[str, ...]] = {"worker": (), "spark": ("spark",)}
"""The lock files of jars (streams/embedded) that each image has."""
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Bundled:
    """A jar inside the package pyspark. Not every jar says to which Maven group it belongs."""

    name: str
    version: str
    group: str | None


def packages(image: str) -> tuple[Locked, ...]:
    """Return an image's Python packages."""
    return wanted(*IMAGES[image])


def jars(image: str) -> tuple[Jar, ...]:
    """Return an image's jars beside those in pyspark."""
    return tuple(jar for name in JARS[image] for jar in locked(name))


def bundled(image: str) -> tuple[Bundled, ...]:
    """Return the jars in the installed pyspark, if the image has pyspark."""
    if all(package.name != "pyspark" for package in packages(image)):
        return ()
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SystemExit("pyspark is not installed, so its jars cannot be listed: make setup")
    folder = Path(spec.origin).parent / "jars"
    return tuple(_identify(path) for path in sorted(folder.glob("*.jar")))


def _identify(path: Path) -> Bundled:
    for group, artifact, version in _maven_properties(path):
        # A jar with others' classes in it holds their properties, too.
        if re.fullmatch(rf"{re.escape(f'{artifact}-{version}')}(-[\w.-]+)?", path.stem):
            return Bundled(artifact, version, group)
    named = re.fullmatch(r"(.+?)-(\d[\w.]*.*)", path.stem)
    return Bundled(named[1], named[2], None) if named else Bundled(path.stem, "unknown", None)


def _maven_properties(path: Path) -> Iterator[tuple[str, str, str]]:
    with zipfile.ZipFile(path) as jar:
        for name in jar.namelist():
            if name.startswith("META-INF/maven/") and name.endswith("/pom.properties"):
                text = jar.read(name).decode("utf-8", "replace")
                found = dict(re.findall(r"^(\w+)=(.*?)\s*$", text, re.MULTILINE))
                if found.keys() >= {"groupId", "artifactId", "version"}:
                    yield found["groupId"], found["artifactId"], found["version"]
