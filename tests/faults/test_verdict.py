"""The verdict on a run of the fault suite is computed from rows, and shown on a page."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from streams.report.balance import balance
from streams.report.facts import Accepted, Delivered, EndpointKey, Side
from streams.report.read import digest_of
from tests.faults.__main__ import chosen_of
from tests.faults.drains import Drain, drains, with_drains
from tests.faults.harm import GROWTH, Effect, Harm, Memory
from tests.faults.hostile import kinds
from tests.faults.load import Load
from tests.faults.observe import Observer, Sightings
from tests.faults.page import BEGIN, END, Terms, by_kind, generated, rewrite
from tests.faults.plan import Fault, FaultKind, Happened, Wanted
from tests.faults.processes import Supervisor
from tests.faults.run import Outcome
from tests.faults.scenarios import SCENARIOS, SHORT, Scenario
from tests.faults.verdict import Recovery, Verdict, judge, summed_up

LOAD = Load(4, 1.0, dialogs=1, length=4)
DIALOG = uuid.UUID(int=1)
ASKER, ANSWERER = EndpointKey("A/A", DIALOG, True), EndpointKey("B/B", DIALOG, False)


def accepted_from(sender: EndpointKey, bodies: list[bytes]) -> list[Accepted]:
    return [
        Accepted(sender, uuid.uuid5(DIALOG, f"{sender.place}{n}"), n, digest_of(body))
        for n, body in enumerate(bodies)
    ]


def arrived(messages: list[Accepted], place: str) -> list[Delivered]:
    return [
        Delivered(
            *(DIALOG, m.sender.is_initiator, m.message_id, m.sequence, m.digest),
            *(place, offset, 1, (), 1),
        )
        for offset, m in enumerate(messages)
    ]


QUESTIONS = accepted_from(ASKER, list(LOAD.questions()))
ANSWERS = accepted_from(ANSWERER, list(LOAD.answers()))
SIDES = [Side(ASKER, "CD", "B/B", 4), Side(ANSWERER, "CD", "A/A", 1)]


def verdict(
    accepted: list[Accepted], delivered: list[Delivered], sides: list[Side] = SIDES
) -> Verdict:
    said = [(message.sender.is_initiator, message.digest) for message in accepted]
    return judge(LOAD, balance(accepted, delivered, sides), said, sides)


def all_of_it() -> list[Delivered]:
    return arrived(QUESTIONS, "B/B") + arrived(ANSWERS, "A/A")


def test_all_is_well() -> None:
    found = verdict(QUESTIONS + ANSWERS, all_of_it())
    assert (found.messages, found.dialogs, found.faults) == (5, 1, {})


def test_what_is_lost_twice_or_out_of_order_is_found() -> None:
    first, second, *rest = all_of_it()
    accepted = QUESTIONS + ANSWERS
    assert verdict(accepted, [first, *rest]).faults == {"lost": 1}
    again = replace(second, offset=77)
    assert verdict(accepted, [first, second, *rest, again]).faults["twice"] == 1
    swapped = [replace(first, offset=1), replace(second, offset=0), *rest]
    assert verdict(accepted, swapped).faults == {"disordered": 1}


def test_a_dialog_that_is_open_is_not_finished() -> None:
    open_side = [SIDES[0], replace(SIDES[1], state="CO")]
    assert verdict(QUESTIONS + ANSWERS, all_of_it(), open_side).faults == {"unfinished": 1}


def test_an_application_that_forgot_or_repeated_itself_is_found() -> None:
    delivered = arrived(QUESTIONS[:3], "B/B") + arrived(ANSWERS, "A/A")
    assert verdict(QUESTIONS[:3] + ANSWERS, delivered).faults == {"unsaid": 1}
    twice = accepted_from(ANSWERER, [b"0", b"0"])
    found = verdict(QUESTIONS + twice, arrived(QUESTIONS, "B/B") + arrived(twice, "A/A"))
    assert found.faults == {"said_twice": 1}


def seen(*rows: tuple[int, int]) -> Sightings:
    found = Sightings()
    for sent, at in rows:
        found.add(sent, at)
    return found


def test_a_fault_is_felt_by_who_waits_longest() -> None:
    """A wait that began before the fault counts only from the start of the fault."""
    sightings = seen((10, 12), (20, 130), (95, 140), (101, 150), (300, 301))
    assert sightings.felt(100, 100) == 40
    assert sightings.felt(100, 120) == 49
    assert sightings.felt(200, 301) == 1
    assert sightings.felt(400, 500) == 0


def test_an_application_is_back_when_it_speaks() -> None:
    sightings = seen((10, 12), (95, 140), (101, 150), (300, 301))
    assert sightings.sent_after(100) == 1
    assert sightings.sent_after(102) == 198
    assert sightings.sent_after(900) == 0


RIGHT = Verdict(1000, 7, 0, 0, 0, 0)
ABSENCE = Fault(0.0, FaultKind.ABSENT, "ServerB", 20.0, then=(Fault(1.0, FaultKind.KILL, "x"),))


def drained(kills: list[int], backlog: int = 200) -> tuple[int, int, tuple[int, ...]]:
    """Return the size of a backlog, the kills while it drained, and what was left at each kill.

    The absence ends at 10,000 ms. Afterwards a message of the backlog is delivered every 10 ms.
    """
    observer = Observer([])
    for number in range(backlog):
        observer.by_initiator.add(9_000, 10_010 + 10 * number)
    observer.by_initiator.add(12_500, 12_501)
    happened = [Happened(ABSENCE, 1, 10_000)]
    happened += [Happened(Fault(0.0, FaultKind.KILL, "x"), at, at) for at in kills]
    [found] = drains(happened, observer)
    return found.backlog, found.kills, found.left


def test_a_kill_falls_into_a_drain_until_the_backlog_is_delivered() -> None:
    assert drained([9_000, 10_500, 11_011, 12_400]) == (200, 2, (151, 99))


def test_a_kill_while_only_the_rest_of_a_backlog_waits_falls_into_no_drain() -> None:
    assert drained([11_985]) == (200, 0, (2,))


def test_an_absence_without_a_backlog_has_no_drain() -> None:
    assert drained([10_500], backlog=0) == (0, 0, ())


def test_an_absence_whose_backlog_drained_without_a_kill_is_a_fault() -> None:
    disturbed, undisturbed = Drain(ABSENCE, 9, 1.0, (9, 5)), Drain(ABSENCE, 9, 1.0, (0,))
    assert with_drains(RIGHT, [disturbed, disturbed]).faults == {}
    found = with_drains(RIGHT, [disturbed, undisturbed])
    assert (found.disturbed, found.faults) == (2, {"undisturbed": 1})


def test_a_worker_that_kafka_remembers_after_a_long_absence_is_a_fault() -> None:
    assert replace(RIGHT, remembered=2).faults == {"remembered": 2}


def effect(during: int = 1_400, grown: int = 0, role: str = "forwarder") -> Effect:
    sizes = Memory(60, 70, 70 + grown, 250)
    name = role if role in ("source", "target") else f"{role}/ServerA"
    return Effect(2_120, 5, 199, 500, during, {name: sizes})


def test_messages_may_wait_a_second_longer_after_the_first_hostile_record() -> None:
    assert effect(during=1_500).delayed == 0
    assert effect(during=1_501).delayed == 1_001


@pytest.mark.parametrize("role", GROWTH)
def test_a_process_may_grow_as_much_as_its_role_keeps(role: str) -> None:
    assert effect(grown=GROWTH[role], role=role).grown == 0
    assert effect(grown=GROWTH[role] + 1, role=role).grown == 1


def test_delays_and_growth_are_faults_if_the_load_was_quiet_at_first() -> None:
    harmful = effect(during=1_501, grown=100)
    assert harmful.judged(RIGHT, quiet=0.1).faults == {"delayed": 1_001, "grown": 1}
    assert harmful.judged(RIGHT, quiet=0.0).faults == {}


def test_without_a_sample_before_hostile_records_the_first_one_counts(tmp_path: Path) -> None:
    harm = Harm(Supervisor(tmp_path), Observer([]), 0.0)
    later = time.time_ns() // 1_000_000 + 70_000
    harm._memory["source"] = [(later, 50), (later + 1, 90), (later + 2, 80)]
    assert harm.effect(1, 0).memory == {"source": Memory(50, 50, 80, 90)}


def test_each_kind_of_topic_has_a_run_of_its_own_with_a_row() -> None:
    runs = chosen_of(["hostile"], [], each=True)
    assert [run.kinds for run in runs] == [(kind,) for kind in kinds()]
    assert len({run.name for run in runs}) == len(runs)
    [ack, *_] = runs
    row = Outcome(ack, Verdict(1, 1, 0, 0, 0, 0, delayed=1_001), (), 60, effect())
    assert by_kind([row]).splitlines()[-1] == (
        "| `ack` | 2,120 | 5 | 199 ms | 500 ms | 1,400 ms | 0 MB | 250 MB | delayed 1,001 |"
    )


def test_the_kinds_of_topics_are_those_asked_for() -> None:
    assert [s.kinds for s in chosen_of(["hostile"], ["cmd", "in"], each=False)] == [("cmd", "in")]
    assert [s.kinds for s in chosen_of(["hostile"], ["cmd"], each=True)] == [("cmd",)]
    assert chosen_of([], [], each=False) == list(SCENARIOS)


def test_recoveries_are_summed_up() -> None:
    assert summed_up([1_000, 9_000, 2_000]) == Recovery(3, 2.0, 9.0)
    assert summed_up([]) == Recovery(0, 0.0, 0.0)


def test_the_page_shows_every_fault_of_every_run() -> None:
    scenario = Scenario(
        "x", "A run", (Wanted(FaultKind.PAUSE, ("source", "forwarder/A"), 2, (1, 5)),), 1
    )
    outcome = Outcome(
        scenario, Verdict(1000, 7, 0, 1, 0, 0, changed=2), (Recovery(2, 0.25, 9),), 60
    )
    text = generated([outcome], Terms(30, 7, 50))
    assert "| A run | 1,000 | 7 | 0 | 1 | 0 | 0 | changed 2 |" in text
    assert (
        "| A run | stopped with SIGSTOP for 1 to 5 s | sending application, forwarder | 2 "
        "| 0.2 s | 9.0 s |" in text
    )
    page = rewrite(f"before {BEGIN} old {END} after", [outcome], Terms(30, 7, 50))
    assert page == f"before {BEGIN}\n{text}\n{END} after"


def test_every_kind_of_fault_is_in_the_long_suite() -> None:
    wanted = [w for s in SCENARIOS for w in s.wanted]
    assert {w.kind for w in wanted} == set(FaultKind)
    roles = SCENARIOS[0].wanted
    assert sum(w.count for w in roles if w.kind is FaultKind.KILL) == 200
    assert abs(sum(s.share for s in SCENARIOS)) > 0.9
    scaled = SCENARIOS[0].scaled(0.1)
    assert [w.count for w in scaled.wanted] == [10, 6, 4, 4]
    assert all(w.count >= 1 for w in SHORT.scaled(0.0).wanted)
