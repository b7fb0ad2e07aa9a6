"""The plan of faults, and the load, are values that are the same for the same seed."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.faults.load import Load, conversation, number_in
from tests.faults.plan import FaultKind, Wanted, draw

KILLS = Wanted(FaultKind.KILL, ("a", "b", "c"), 7)
PAUSES = Wanted(FaultKind.PAUSE, ("a", "b"), 4, (1.0, 15.0))


def test_a_seed_decides_everything() -> None:
    assert draw(1, (KILLS, PAUSES), 0, 100) == draw(1, (KILLS, PAUSES), 0, 100)
    assert draw(1, (KILLS, PAUSES), 0, 100) != draw(2, (KILLS, PAUSES), 0, 100)


@given(st.integers(0, 2**32))
@settings(derandomize=True)
def test_faults_are_spread_over_the_time_and_over_the_victims(seed: int) -> None:
    faults = draw(seed, (KILLS, PAUSES), 10, 120)
    assert [int((f.at - 10) // 10) for f in faults] == list(range(11))
    hit = Counter((f.kind, f.victim) for f in faults)
    assert sorted(hit[FaultKind.KILL, v] for v in "abc") == [2, 2, 3]
    assert [hit[FaultKind.PAUSE, v] for v in "ab"] == [2, 2]
    assert all(1 <= f.lasts <= 15 for f in faults if f.kind is FaultKind.PAUSE)
    assert all(f.step == 0 for f in faults)


def test_a_clock_goes_forward_and_back() -> None:
    wrong = Wanted(FaultKind.CLOCK, ("a",), 20, (5, 10), step=600)
    steps = [f.step for f in draw(3, [wrong], 0, 60)]
    assert min(steps) < 0 < max(steps) and all(abs(s) <= 600 for s in steps)
    assert wrong.words == "its clock wrong by up to 600 s for 5 to 10 s"


def test_nothing_wanted_is_no_plan() -> None:
    assert draw(1, (), 0, 10) == ()


@pytest.mark.parametrize("messages", [1, 99, 100, 2_000, 2_001, 4_950])
def test_every_dialog_has_its_messages_in_order_and_ends_once(messages: int) -> None:
    load, said = Load(messages, 10.0), defaultdict(list)
    for number in range(messages):
        spoken = load.planned(number)
        said[spoken.dialog].append(spoken)
    assert sorted(said) == list(range(load.talks))
    for found in said.values():
        assert [s.index for s in found] == list(range(len(found)))
        assert [s.last for s in found] == [False] * (len(found) - 1) + [True]
        assert len(found) <= load.length


def test_bodies_say_their_number() -> None:
    load = Load(9, 1.0, dialogs=2, length=2)
    assert [number_in(body) for body in load.questions()] == list(range(9))
    assert list(load.answers()) == [b"0", b"4", b"8"]
    assert load.planned(3).body == b"3 last"


def test_what_is_due_grows_with_time_and_ends() -> None:
    load = Load(10, 2.0)
    assert [load.due(t) for t in (-1.0, 0.0, 0.6, 3.0, 60.0)] == [0, 0, 1, 6, 10]
    assert load.seconds == 5.0


def test_ids_of_dialogs_are_the_systems_own() -> None:
    assert conversation("t1.", 4) == conversation("t1.", 4) != conversation("t2.", 4)
