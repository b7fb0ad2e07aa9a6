"""The locked jars: ``NAME.lock`` lists the SHA-256 and the Maven coordinate of each jar."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Jar:
    """One locked artifact of a Maven repository."""

    sha256: str
    group: str
    artifact: str
    version: str

    @property
    def coordinate(self) -> str:
        """Return ``group:artifact:version``."""
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file(self) -> str:
        """Return the artifact's file name in a Maven repository."""
        return f"{self.artifact}-{self.version}.jar"


def locked(name: str, folder: Path = Path(__file__).parent) -> tuple[Jar, ...]:
    """Return the jars of ``NAME.lock``."""
    lines = (folder / f"{name}.lock").read_text(encoding="utf-8").splitlines()
    rows = (line.split() for line in lines if line and not line.startswith("#"))
    return tuple(Jar(sha256, *coordinate.split(":")) for sha256, coordinate in rows)
