"""What tests of ``hopline up`` share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.live import UpFolder, stop


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in an empty folder, and leave no process behind."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    stop(UpFolder(tmp_path / ".hopline" / "up"))
