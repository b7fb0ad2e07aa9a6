"""Two runs held against each other, message by message, and against what was foretold."""

from __future__ import annotations

import uuid

import pytest

from streams.capture.arrivals import Arrived, CopyEvent, read_arrivals
from streams.capture.compare import Comparison, Differing, Ledger
from streams.capture.forecast import Side
from streams.capture.judge import Standing
from streams.errors import CopyOutcome, EventKind
from streams.protocol import DIALOG_TIMER, END_DIALOG
from streams.protocol.frames import Flag, Header, Journey, Parties
from streams.times import LATEST
from streams.wire import Topics, encode_event
from streams.wire.records import queue_record

B, C = "ServerB/DatabaseB", "ServerC/DatabaseC"
PATHS = {B: f"ServerA>{B}", C: f"ServerA>{C}"}


def arrived(dialog: str, number: int, place: str = B, *, path: str = "", ms: int = 5) -> Arrived:
    return Arrived(dialog, True, number, place, path or PATHS[place], ms, 1_000)


def side(dialog: str, messages: int, places: tuple[str, ...] | None = (B,)) -> Side:
    standing = Standing.NO_BEGIN if places is None else Standing.JUDGED
    return Side(dialog, f"new {dialog}", True, messages, places, standing)


def compared(
    sides: list[Side], was: list[Arrived | CopyEvent], now: list[Arrived | CopyEvent]
) -> Comparison:
    with Ledger() as ledger:
        for one in sides:
            ledger.expect(one)
        for found in was:
            ledger.was(found)
        for found in now:
            ledger.is_now(found, 1_000)
        return ledger.compare(settled=ledger.complete)


def test_every_message_is_held_against_itself() -> None:
    sides = [side("a", 6), side("b", 1)]
    was = [*(arrived("a", n) for n in (0, 1, 2, 3)), arrived("b", 0)]
    now = [
        arrived("new a", 0), arrived("new a", 1, C), arrived("new a", 2, path=f"ServerA>G>{B}"),
        arrived("new a", 4), arrived("new b", 0),
    ]  # fmt: skip
    found = compared(sides, list(was), list(now))
    assert found.outcomes == {
        "same": 2, "moves": 1, "way": 1, "stops": 1, "begins": 1, "neither": 1,
    }  # fmt: skip
    assert (found.messages, found.arrived, found.differences, found.good) == (7, 5, 4, False)
    named = {"begins": 1, "moves": 1, "stops": 1, "way": 1}
    assert found.dialogs == (Differing("a", "new a", True, named),)
    assert (found.original, found.settled) == (True, False)


def test_predicted_and_other_outcomes_are_distinguished() -> None:
    sides = [side("a", 2), side("b", 1, ()), side("c", 1, ()), side("d", 3, None), side("e", 1)]
    now = [arrived("new a", 0), arrived("new a", 1, C), arrived("new c", 0)]
    found = compared(sides, [], list(now))
    # a 0 and b as foretold; a 1 elsewhere, c although nothing takes it, e nowhere; d: who knows?
    assert found.foretold == {"as": 2, "other": 3, "unknown": 3}
    assert (found.original, found.outcomes, found.dialogs) == (False, {}, ())
    assert not found.good


def test_what_is_another_jobs_or_of_another_time_counts_nothing() -> None:
    before = arrived("new a", 0)._replace(enqueued_at=999)
    found = compared([side("a", 1)], [arrived("other", 0)], [before, arrived("a", 0)])
    assert (found.arrived, found.original) == (0, False)


def test_repeats_and_copies_are_counted_for_both_runs() -> None:
    def copy_event(dialog: str, what: CopyOutcome, error: int) -> CopyEvent:
        return CopyEvent(dialog, what, error, 1_000)

    was = [
        arrived("a", 0, ms=7),
        copy_event("a", CopyOutcome.REMOVED, 11218),
        copy_event("a", CopyOutcome.DROPPED, 28007),
    ]
    now = [
        arrived("new a", 0), arrived("new a", 0), copy_event("new a", CopyOutcome.REMOVED, 11218),
        copy_event("new a", CopyOutcome.REMOVED, 11218),
        copy_event("x", CopyOutcome.DROPPED, 28007),
    ]  # fmt: skip
    found = compared([side("a", 1)], list(was), list(now))
    assert (found.twice, found.twice_before, found.good) == (1, 0, False)
    assert found.copies == {"removed": {11218: 2}}
    assert found.copies_before == {"dropped": {28007: 1}, "removed": {11218: 1}}
    assert (found.latency.max, found.latency_before.p50) == (5, 7)


def test_all_is_there_when_each_is_there_that_shall_be() -> None:
    with Ledger() as ledger:
        ledger.expect(side("a", 2))
        ledger.expect(side("b", 5, ()))
        ledger.expect(side("", 9))
        assert (ledger.wanted, ledger.complete) == (2, False)
        for number in (0, 0, 1):
            assert not ledger.complete, "twice the same is not both"
            ledger.is_now(arrived("new a", number), 0)
        assert ledger.complete


def test_percentiles_are_of_all_messages() -> None:
    now = [arrived("new a", n, ms=n + 1) for n in range(200)]
    latency = compared([side("a", 200)], [], list(now)).latency
    assert (latency.p50, latency.p95, latency.p99, latency.max) == (101, 191, 199, 200)


# --- what records say -----------------------------------------------------------------------------

ONE = uuid.UUID(int=1)
PARTIES = Parties("TargetService", "B", "InitiatorService", "A", "DEFAULT", True, True)
QUEUE = Topics().queue("ServerB", "DatabaseB", "TargetQueue")


def queued(
    type_: str, flags: Flag = Flag.NONE, fragment: int = 0, enqueued_at: int = 100
) -> list[Arrived | CopyEvent]:
    header = Header(uuid.UUID(int=2), type_, 3, enqueued_at, 9_999, flags, fragment, fragment + 1)
    visits = (("ServerA", 105), ("ServerB", 107), (B, 109))
    _, value, headers = queue_record(
        uuid.UUID(int=9), ONE, PARTIES, header, Journey(9, 9_999, 0, 0, 0, visits), b""
    )
    return list(read_arrivals(QUEUE, tuple(headers), value, Topics()))


def test_a_queued_message_has_number_path_and_latency() -> None:
    [found] = queued("DEFAULT")
    assert found == Arrived(str(ONE), True, 3, B, f"ServerA>{B}", 9, 100)


def test_a_latency_is_a_number_that_the_comparison_can_store() -> None:
    """Any writer may state any time of enqueuing."""
    [found] = queued("DEFAULT", enqueued_at=-(1 << 63))
    assert isinstance(found, Arrived)
    assert found.ms == LATEST


@pytest.mark.parametrize(
    "type_, flags, fragment",
    [
        (END_DIALOG, Flag.END, 0),
        (DIALOG_TIMER, Flag.UNSEQUENCED, 0),
        ("DEFAULT", Flag.NONE, 1),
    ],
)
def test_what_nobody_has_sent_by_itself_is_no_message(
    type_: str, flags: Flag, fragment: int
) -> None:
    assert queued(type_, flags, fragment) == []


@pytest.mark.parametrize(
    "kind, error, what",
    [
        (EventKind.MESSAGE_UNDELIVERABLE, 11218, CopyOutcome.REMOVED),
        (EventKind.MESSAGE_UNDELIVERABLE, 11224, CopyOutcome.DROPPED),
        (EventKind.FORWARDED_MESSAGE_DROPPED, 28007, CopyOutcome.DROPPED),
        (EventKind.MESSAGE_CLASSIFY, 28052, CopyOutcome.DELAYED),
        (EventKind.MESSAGE_CLASSIFY, 0, None),
        (EventKind.CONVERSATION, 28052, None),
    ],
)
def test_events_report_copies(kind: EventKind, error: int, what: CopyOutcome | None) -> None:
    event = {"event": int(kind), "error": error, "at": 7, "instance": "ServerA"}
    value = encode_event({**event, "conversation": str(ONE), "from_initiator": True})
    found = list(read_arrivals("ssb.event", (), value, Topics()))
    assert found == ([] if what is None else [CopyEvent(str(ONE), what, error, 7)])


def test_unreadable_records_yield_nothing() -> None:
    assert list(read_arrivals(QUEUE, (("sb-message", b"?"),), b"", Topics())) == []
    assert list(read_arrivals("ssb.event", (), b"?", Topics())) == []
    assert list(read_arrivals("elsewhere", (), b"?", Topics())) == []
