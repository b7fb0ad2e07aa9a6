"""Every mutant of the real source is caught by an invariant of the exploration."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import streams
from tests.faults.test_rules import functions
from tests.mutants.kafka_mutants import MUTANTS as KAFKA_MUTANTS
from tests.mutants.mutants import MUTANTS, Mutant

SOURCE = Path(streams.__file__).parent
TESTS = Path(__file__).parents[1]
HUNT = Path(__file__).with_name("hunt.py")
SEEDS = 600
"""The number of seeds; a mutant that survives them is a gap of the invariants or of the generator.
"""
CATCHING = {
    "do not advance the attempt": 22,
    "do not re-arm timers on abort": 12,
    "an Error that does not skip what was discarded": 76,
    "do not look at what waits after a restart": 57,
    "do not wake who waits for the catalog": 16,
    "forget who has room, but not a turn": 24,
    "hold without budget": 33,
}
"""Where the exploration begins: the first seed that is known to catch a mutant, if not one of the
first."""
SECONDS = 60
"""The CPU seconds that a seed may take, a hundred times its need; beyond that it is endless."""


def hunt(mutant: Mutant, folder: Path, seconds: float = SECONDS) -> dict[str, Any] | None:
    """Return which seed breaks which invariant on a mutated copy of the source, if any."""
    copy = folder / "streams"
    shutil.copytree(SOURCE, copy)
    mutant.apply(copy)
    first = CATCHING.get(mutant.name, 0)
    command = [sys.executable, HUNT, folder, str(first), str(SEEDS), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] | None = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def hunts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Any]]]:
    """Hunt all mutants, as many at a time as there are cores."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {
            mutant.name: pool.submit(hunt, mutant, tmp_path_factory.mktemp("mutant"))
            for mutant in MUTANTS
        }


@pytest.mark.long
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "_"))
def test_a_mutant_is_caught_by_an_invariant(
    mutant: Mutant, hunts: dict[str, Future[Any]], record_property: Any
) -> None:
    found = hunts[mutant.name].result()
    assert found is not None, f"{SEEDS} seeds do not tell '{mutant.name}' from the real source"
    record_property("seeds", found["seed"] + 1)
    record_property("invariant", found["invariant"])


@pytest.mark.long
def test_a_mutant_that_never_ends_is_caught(tmp_path: Path) -> None:
    text = "        self.effects.append(Report(EventKind.CONVERSATION, subclass, error))\n"
    endless = Mutant(
        "endless", "protocol/ending.py", text, "        while True:\n            pass\n"
    )
    found = hunt(endless, tmp_path, seconds=3)
    assert found is not None and found["why"] == "it never ends"


def test_there_are_enough_mutants_and_no_two_alike() -> None:
    assert CATCHING.keys() <= {mutant.name for mutant in MUTANTS}
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 24


def test_a_mutant_whose_line_is_gone_says_so() -> None:
    gone = Mutant("gone", "protocol/machine.py", "a line that nobody wrote", "another")
    with pytest.raises(AssertionError, match="write the mutant 'gone' anew"):
        gone.mutated("")


def test_the_mutants_that_a_real_kafka_kills_are_enough_and_stand_where_they_did() -> None:
    """``make mutants`` runs them."""
    assert len({mutant.name for mutant in KAFKA_MUTANTS}) == len(KAFKA_MUTANTS)
    assert sum(mutant.file.startswith(("kafka/", "workers/")) for mutant in KAFKA_MUTANTS) >= 40
    for mutant in KAFKA_MUTANTS:
        mutant.mutated((SOURCE / mutant.file).read_text(encoding="utf-8"))
        for file, _, name in (named.partition("::") for named in mutant.tests.split()):
            name = name.partition("[")[0]  # without the parameters of one case
            assert (TESTS / file).exists() and name in ("", *functions(TESTS / file))


def test_each_of_the_twelve_rules_has_a_mutant_that_breaks_it() -> None:
    assert {mutant.rule for mutant in KAFKA_MUTANTS} - {0} == set(range(1, 13))
