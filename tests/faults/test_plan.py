"""The plan of faults, and the load, are values that are the same for the same seed."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.faults.load import Load, conversation, number_in
from tests.faults.plan import Fault, FaultKind, Wanted, draw
from tests.faults.run import SETTLE
from tests.faults.scenarios import DRAINING, SCENARIOS, WHOLE

KILLS = Wanted(FaultKind.KILL, ("a", "b", "c"), 7)
PAUSES = Wanted(FaultKind.PAUSE, ("a", "b"), 4, (1.0, 15.0))
ABSENCES = ("ServerB", "Gateway", "endpoint/ServerB", "ServerB/DatabaseB/TargetQueue")


def absences(seconds: float, seed: int) -> list[Fault]:
    """Return the absences of the run `backlog`, which has this much load if all runs last so long.

    As in ``python -m tests.faults --seconds``.
    """
    [backlog] = [s for s in SCENARIOS if s.name == "backlog"]
    load = backlog.duration(seconds)
    scaled = backlog.scaled(load / (WHOLE * backlog.share))
    faults = draw(seed, scaled.wanted, SETTLE, load - SETTLE)
    return [f for f in faults if f.kind in (FaultKind.ABSENT, FaultKind.QUEUE_OFF)]


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


SEEDS = range(1, 51)


@pytest.mark.parametrize("seconds", [60.0, 300.0, WHOLE, 4 * WHOLE])
def test_every_absence_has_two_kills_where_its_backlog_drains(seconds: float) -> None:
    plans = [absences(seconds, seed) for seed in SEEDS]
    assert all({f.victim for f in found} == set(ABSENCES) for found in plans)
    for absence in chain.from_iterable(plans):
        assert len(absence.then) == 2
        assert {kill.kind for kill in absence.then} == {FaultKind.KILL}
        assert all(0.5 <= kill.at <= 5.0 for kill in absence.then)
        assert len({kill.victim for kill in absence.then} & set(DRAINING)) == 2


def test_every_role_is_absent_in_every_way() -> None:
    [scenario] = [s for s in SCENARIOS if s.name == "absences"]
    roles_only = [w for w in scenario.wanted if not w.then]
    for seed in SEEDS:
        found = {(f.kind, f.victim) for f in draw(seed, roles_only, 0, 100)}
        assert len(found) == 12
        roles = Counter((kind, victim.partition("/")[0]) for kind, victim in found)
        assert set(roles.values()) == {1} and len({kind for kind, _ in roles}) == 3


def test_no_absence_is_left_out_of_a_shorter_run() -> None:
    [backlog] = [s for s in SCENARIOS if s.name == "backlog"]
    found = [w for w in backlog.scaled(0.01).wanted if w.then]
    assert [(w.kind, w.count) for w in found] == [(FaultKind.ABSENT, 3), (FaultKind.QUEUE_OFF, 1)]


def test_no_absence_begins_before_the_kills_after_the_last_one() -> None:
    for found in (absences(300.0, seed) for seed in SEEDS):
        ends = [f.at + f.lasts + f.then[-1].at for f in found]
        assert all(end <= f.at for end, f in zip(ends, found[1:], strict=False))
        assert ends[-1] <= 160.0 - SETTLE


def test_the_seed_chooses_the_processes_that_are_killed_after_an_absence() -> None:
    found = [absence for seed in SEEDS for absence in absences(300.0, seed)]
    assert {kill.victim for absence in found for kill in absence.then} == set(DRAINING)


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
