"""Find a Java that can run Kafka 4."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from streams.errors import SurroundingsError

MINIMUM = 17
"""The oldest Java version that runs a Kafka 4 broker."""

_REMEDY = f"Install a JDK or JRE {MINIMUM} or newer and put java on the PATH or set JAVA_HOME."
_VERSION = re.compile(r'version "(?P<full>(?:1\.)?(?P<major>\d+)[^"]*)"')


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: its executable, its version string, and the major number."""

    path: Path
    version: str
    major: int


def find_java() -> Java:
    """Return the Java in ``JAVA_HOME`` or the PATH; raise an error if it is missing or too old."""
    path = _executable()
    java = _ask(path)
    if java.major < MINIMUM:
        raise SurroundingsError(
            f"Java at {path} is version {java.version}, but Kafka needs {MINIMUM} or newer.",
            _REMEDY,
        )
    return java


def _executable() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        found = shutil.which("java", path=str(Path(home) / "bin"))
        if found is None:
            raise SurroundingsError(f"JAVA_HOME is {home}, but it has no bin/java.", _REMEDY)
        return Path(found)
    found = shutil.which("java")
    if found is None:
        raise SurroundingsError(
            "Java was not found: there is no java on the PATH, and JAVA_HOME is not set.", _REMEDY
        )
    return Path(found)


def _ask(path: Path) -> Java:
    try:
        answer = subprocess.run(
            [path, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SurroundingsError(f"Java at {path} does not run: {error}.", _REMEDY) from error
    match = _VERSION.search(answer.stderr + answer.stdout)
    if match is None:
        # On macOS, ``java`` may be a stub that only prints where to download Java.
        raise SurroundingsError(f"Java at {path} does not report its version.", _REMEDY)
    return Java(path, match["full"], int(match["major"]))
