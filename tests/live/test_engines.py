"""What brings the parts of dialogs together in one process, in memory and on disk."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path

import pytest

from streams.live.engines.dialogs import Dialogs
from streams.report.parts import Began, Kept, Part

IDS = [uuid.UUID(int=n).bytes for n in range(40)]


def parts() -> list[tuple[bytes, Part]]:
    """Return parts of dialogs in turn, some with much state."""
    found: list[tuple[bytes, Part]] = []
    for turn in range(5):
        for n, dialog in enumerate(IDS):
            state = Kept((0, turn), "ServerA", "DatabaseA", True, bytes(100 * n))
            found.append((dialog, state if n % 2 else Began(dialog, turn)))
    return found


def grouped(dialogs: Dialogs) -> dict[bytes, list[Part]]:
    with dialogs:
        for dialog, part in parts():
            dialogs.add(dialog, part)
        found = list(dialogs.grouped())
    assert len(found) == len(IDS), "each dialog once"
    return dict(found)


def test_what_does_not_fit_into_memory_is_read_back_from_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    whole = grouped(Dialogs())
    assert not list(tmp_path.iterdir())
    for budget in (0, 2_000, 100_000):
        assert grouped(Dialogs(budget)) == whole
        assert not list(tmp_path.iterdir()), "and is removed at the end"


def test_a_failure_leaves_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyError), Dialogs(0) as dialogs:
        dialogs.add(*parts()[0])
        assert [folder.stat().st_mode & 0o777 for folder in tmp_path.iterdir()] == [0o700]
        raise KeyError
    assert not list(tmp_path.iterdir())
