"""Fixtures for the tests of ``hopline up``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.live import UpFolder, stop
from streams.live.local import readiness


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Work in an empty folder, and leave no process behind.

    On a loaded machine a worker may need more than a second for an answer.
    """
    monkeypatch.setattr(readiness, "ANSWER_WITHIN", 10.0)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    stop(UpFolder(tmp_path / ".hopline" / "up"))
