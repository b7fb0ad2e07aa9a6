"""What brings the parts of dialogs together in one process, in memory and on disk."""

from __future__ import annotations

import tempfile
import uuid
from itertools import count, islice
from pathlib import Path
from zlib import crc32

import pytest

from streams.live.engines.dialogs import Dialogs
from streams.protocol import Cause, Source
from streams.report.facts import Ending
from streams.report.parts import Began, Ended, Kept, Part, Queued, Sent

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


CAUSE = Cause(Source("a" * 1_000, "b" * 1_000, uuid.UUID(int=7), 0), 4)


@pytest.mark.parametrize(
    "part",
    [
        Began(IDS[0], 0, "j" * 2_000),
        Sent((0, 0), "A/D", True, IDS[0], IDS[0], b"", 0, True, CAUSE),
        Ended((0, 0), "A/D", True, IDS[0], Ending.PLAIN, CAUSE),
        Queued((0, 0), "A/D", True, IDS[0], 0, b"", 0, (("ServerA", 0),) * 20),
    ],
)
def test_a_large_part_counts_with_what_others_may_lengthen(
    part: Part, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Dialogs(2_500) as dialogs:
        dialogs.add(IDS[0], part)
        assert len(list(tmp_path.iterdir())) == 1
    with Dialogs(2_500) as dialogs:
        dialogs.add(IDS[0], Began(IDS[0], 0))
        assert not list(tmp_path.iterdir())


def test_chosen_ids_do_not_bring_all_dialogs_into_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One file is in memory at a time; these ids have checksums that share one of 64 files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    numbers = (uuid.UUID(int=n).bytes for n in count())
    alike = list(islice((each for each in numbers if crc32(each) % 64 == 0), 40))
    with Dialogs(0) as dialogs:
        for dialog in alike:
            dialogs.add(dialog, Began(dialog, 0))
        assert len(list(tmp_path.glob("*/*"))) > 1


def test_a_failure_leaves_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(KeyError), Dialogs(0) as dialogs:
        dialogs.add(*parts()[0])
        assert [folder.stat().st_mode & 0o777 for folder in tmp_path.iterdir()] == [0o700]
        raise KeyError
    assert not list(tmp_path.iterdir())
