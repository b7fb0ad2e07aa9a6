"""Every reader of files and every decoder on some mutated inputs; ``make fuzz`` takes longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.chance import Chance
from tests.fuzz.drive import run, run_all
from tests.fuzz.mutate import joined, mutated, parts_of
from tests.fuzz.targets import TARGETS

SECONDS = 1.0
MEGABYTES = 1_000
"""Far more than any target has needed (docs/security.md)."""
_BROKEN = """
import time
import streams.wire.frame_headers as frame_headers
def broken(raw):
    {}
frame_headers.decode_parties = broken
"""


@pytest.mark.long
def test_any_input_is_read_or_refused(tmp_path: Path) -> None:
    """A second for each target: nothing but an answer or a documented error comes out."""
    runs = run_all(tuple(TARGETS), SECONDS, 2, tmp_path)
    assert [fault for each in runs for fault in each.faults] == []
    assert [each.target for each in runs] == list(TARGETS)
    assert all(each.inputs for each in runs)
    assert max(each.peak for each in runs) < MEGABYTES


@pytest.mark.long
@pytest.mark.parametrize(
    ("does", "reported"),
    [
        ("raise KeyError('broken')", "KeyError at "),
        ("import os; os.kill(os.getpid(), 11)", "ended with -11"),
        ("bytes(3 << 30)", "MemoryError at "),
    ],
)
def test_the_harness_finds_what_is_wrong(
    does: str, reported: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A strange error, a crash in C and too much memory, of a decoder that is broken on purpose."""
    (tmp_path / "sitecustomize.py").write_text(_BROKEN.format(f"if len(raw) % 2: {does}"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = run("route", 1.0, 2, tmp_path / "found")
    assert any(reported in fault for fault in done.faults), done


def test_parts_can_be_taken_apart_again() -> None:
    parts = [b"", b"abc", b"x" * 70_000]
    assert parts_of(joined(parts)) == parts
    assert parts_of(b"\xff") == [b""]


def test_inputs_follow_from_the_seed() -> None:
    seeds = [b"one input", joined([b"another", b"with parts"]), b'{"a": [1, 2]}']
    made = [[mutated(chance, seeds) for _ in range(200)] for chance in (Chance(1), Chance(1))]
    assert made[0] == made[1]
    assert len(set(made[0])) > 150
