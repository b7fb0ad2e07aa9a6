"""Every reader of files and every decoder on a few mutated inputs; ``make fuzz`` takes longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.chance import Chance
from tests.fuzz.drive import run
from tests.fuzz.mutate import joined, mutated, parts_of
from tests.fuzz.targets import TARGETS

SECONDS = 1.0


@pytest.mark.parametrize("target", TARGETS)
def test_any_input_is_read_or_refused(target: str, tmp_path: Path) -> None:
    done = run(target, SECONDS, 2, tmp_path)
    assert done.faults == ()
    assert done.inputs


def test_a_fault_and_a_hang_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness itself: an error that is none of ours, and an input that does not end."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    hook = (
        "import sys, time\n"
        "import streams.wire.codecs as c\n"
        "def broken(raw):\n"
        "    sys.stderr.flush()\n"
        "    raise KeyError('broken')\n"
        "c.decode_parties = broken\n"
    )
    (tmp_path / "sitecustomize.py").write_text(hook)
    done = run("route", 1.0, 2, tmp_path / "found")
    assert "KeyError" in " ".join(done.faults)


def test_parts_can_be_taken_apart_again() -> None:
    parts = [b"", b"abc", b"x" * 70_000]
    assert parts_of(joined(parts)) == parts
    assert parts_of(b"\xff") == [b""]


def test_inputs_follow_from_the_seed() -> None:
    seeds = [b"one input", joined([b"another", b"with parts"]), b'{"a": [1, 2]}']
    made = [[mutated(chance, seeds) for _ in range(200)] for chance in (Chance(1), Chance(1))]
    assert made[0] == made[1]
    assert len(set(made[0])) > 150
