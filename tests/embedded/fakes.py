"""Stand-ins for a Java that is missing, old or broken."""

from __future__ import annotations

from pathlib import Path

import pytest


def no_java(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Leave no Java to be found."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(folder))


def fake_java(monkeypatch: pytest.MonkeyPatch, folder: Path, output: str, code: int = 0) -> Path:
    """Put a java on an otherwise empty PATH that prints a text and does nothing else."""
    path = folder / "java"
    path.write_text(f"#!/bin/sh\necho '{output}' >&2\nexit {code}\n")
    path.chmod(0o755)
    no_java(monkeypatch, folder)
    return path
