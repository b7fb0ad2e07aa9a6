"""A record that fails costs only itself; errors of the surroundings end the worker."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streams.causes import PAUSE, Causes
from streams.errors import Event, Number, SurroundingsError, UsageError
from streams.kafka import FencedError, KafkaError, KafkaException, Message
from streams.node import Forwarder, Record, UnreadableError
from streams.protocol import Journey, Parties
from streams.routing import Origin
from streams.wire import MalformedError, Topics, encode_header, encode_journey, encode_parties
from streams.workers.endpoint import move_bodies as module
from streams.workers.endpoint.commit_work import WorkCommitter
from streams.workers.endpoint.inputs import RejectReason
from streams.workers.endpoint.move_bodies import move_bodies
from streams.workers.endpoint.partition import Work
from streams.workers.forwarder.buffered_copies import BufferedCopies
from streams.workers.forwarder.local_producer import LocalProducer
from streams.workers.forwarder.offset_tracker import OffsetTracker
from streams.workers.forwarder.processor import Processor
from streams.workers.forwarder.remote_producers import RemoteCopy
from streams.workers.forwarder.restart_state import Lasting
from streams.workers.record_errors import Skips, Tracebacks, is_caused_by_record
from tests.node.test_lane import MS, WORLDS
from tests.workers.rubbish import header

BAD, GOOD = (f"00000000-0000-0000-0000-00000000000{n}".encode() for n in (1, 2))
TOPIC = "txq.GatewayA"
SENTENCE = "it cannot be processed: ZeroDivisionError"


def message(key: bytes, offset: int, sent_at: int = MS) -> Message:
    """Return a frame that GatewayA forwards to ServerB, whose heartbeats are missing."""
    headers = [
        ("sb-route", encode_parties(Parties("TargetService", "DatabaseB", "I", "A", "D", True))),
        ("sb-message", encode_header(header())),
        ("sb-hop", encode_journey(Journey(16, sent_at + 60_000, 0, sent_at))),
    ]
    given: dict[str, Any] = {"timestamp": (1, MS), "headers": headers}
    return Message(topic=TOPIC, partition=0, offset=offset, key=key, value=b"x", **given)


class LocalOutput:
    """Stands where the forwarder's producer does; notes the events."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.given_up: list[int] = []

    def report(self, *_: Any) -> Callable[..., None]:
        return lambda *_: None

    def copy(self, *_: Any) -> None:
        raise AssertionError("nothing is forwarded here")

    def emit(self, source: Any, key: Any, event: Event) -> None:
        self.events.append(event)

    def give_up(self, why: str, topic: str, key: Any, source: tuple[str, int, int]) -> None:
        if key == BAD:
            raise ZeroDivisionError("of course")
        self.given_up.append(source[2])


class Remote:
    """Stands where the producers for other clusters do; returns copies."""

    def __init__(self, *back: tuple[RemoteCopy, str | None]) -> None:
        self.back = back

    def limit(self, size: int) -> None:
        pass

    def topic(self, instance: str) -> str:
        return "there"

    def come_back(self) -> tuple[tuple[RemoteCopy, str | None], ...]:
        return self.back


def processor(remote: Remote) -> tuple[Processor, LocalOutput, BufferedCopies]:
    catalog, output = WORLDS["combined"], LocalOutput()
    buffered = BufferedCopies(lambda _: False)
    control = SimpleNamespace(catalog=catalog, now=lambda: MS, claims=lambda _: None)
    made = Processor(
        SimpleNamespace(topics=Topics()),
        SimpleNamespace(instance="GatewayA", home="GatewayA", may_go=False),
        control,
        Lasting(buffered, remote),
        output,
        OffsetTracker(),
    )
    return made, output, buffered


def failing(*, on: str, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let a method of the forwarder's decisions fail for one key."""
    method = getattr(Forwarder, on)

    def fail(forwarder: Forwarder, record: Record, *rest: Any) -> Any:
        if record.key == BAD:
            raise error
        return method(forwarder, record, *rest)

    monkeypatch.setattr(Forwarder, on, fail)


def coordinates(output: LocalOutput) -> list[tuple[object, ...]]:
    return [
        (e["event"], e["topic"], e["partition"], e["offset"], e["detail"]) for e in output.events
    ]


def test_a_buffered_copy_that_cannot_be_decided_again_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, output, buffered = processor(Remote())
    made.pass_on([message(BAD, 3), message(GOOD, 4)])
    assert (len(buffered), output.events) == (2, [])
    failing(on="release", monkeypatch=monkeypatch, error=ZeroDivisionError("of course"))
    buffered.limit(1 << 20)
    made.look_around()
    assert coordinates(output) == [(161, TOPIC, 0, 3, SENTENCE)]
    assert len(buffered) == 1, "the other one is buffered again"


@pytest.mark.parametrize("why", [None, "too large"])
def test_a_returned_copy_that_fails_costs_only_itself(
    monkeypatch: pytest.MonkeyPatch, why: str | None
) -> None:
    copies = (
        RemoteCopy(message(key, at), Origin.OUTSIDE, "B") for key, at in ((BAD, 3), (GOOD, 4))
    )
    made, output, buffered = processor(Remote(*((copy, why) for copy in copies)))
    failing(on="hold_key", monkeypatch=monkeypatch, error=ZeroDivisionError("of course"))
    made.take_back()
    assert coordinates(output) == [(161, TOPIC, 0, 3, SENTENCE)]
    assert (len(buffered), output.given_up) == ((1, []) if why is None else (0, [4]))


def test_a_failure_is_logged_with_its_traceback_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another cluster may write such a record at any rate; each record is still reported."""
    made, output, _ = processor(Remote())
    clock = 100.0
    monkeypatch.setattr(made._outcomes, "_tracebacks", Tracebacks(lambda: clock))
    failing(on="handle", monkeypatch=monkeypatch, error=ZeroDivisionError("of course"))

    def logged(*offsets: int) -> list[str]:
        caplog.clear()
        made.pass_on([message(BAD, offset) for offset in offsets])
        assert all(record.exc_info for record in caplog.records)
        return [record.getMessage() for record in caplog.records]

    first = "GatewayA: ('txq.GatewayA', 0, 1) was not forwarded"
    assert logged(1, 2, 3) == [first]
    clock += PAUSE - 1
    assert logged(4) == []
    clock += 1
    again = first.replace("1)", "5)") + "; 3 more records failed in the same way"
    assert logged(5, 6) == [again]
    assert [e["offset"] for e in output.events] == [1, 2, 3, 4, 5, 6]


def test_each_cause_of_a_failure_is_logged() -> None:
    """A cause is the class of an error and the line that raised it."""

    def fail(error: Exception, *, elsewhere: bool) -> None:
        if elsewhere:
            raise error
        raise error

    def raised(error: Exception, *, elsewhere: bool = False) -> Exception:
        with pytest.raises(type(error)) as caught:
            fail(error, elsewhere=elsewhere)
        return caught.value

    tracebacks = Tracebacks(lambda: 0.0)
    assert tracebacks.due(raised(ValueError("a"))) == 0
    assert tracebacks.due(raised(ValueError("b"))) is None
    assert tracebacks.due(raised(KeyError("a"))) == 0
    assert tracebacks.due(raised(ValueError("a"), elsewhere=True)) == 0
    assert tracebacks.due(ValueError("never raised")) == 0
    assert tracebacks.due(ValueError("never raised")) is None


def test_skipped_records_are_logged_once_a_minute_for_each_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Any client that may write heartbeats can write unreadable ones at any rate."""
    clock = 100.0
    skips, log = Skips("presence", lambda: clock), logging.getLogger("hopline.control")
    for offset in range(3):
        skips.log(log, offset, MalformedError("its key is not its name"))
    skips.log(log, 3, ZeroDivisionError("secret"))
    clock += PAUSE
    skips.log(log, 4, MalformedError("its key is not its name"))
    reason = "is skipped: its key is not its name"
    assert [record.getMessage() for record in caplog.records] == [
        f"presence: the record at offset 0 {reason}",
        "presence: the record at offset 3 is skipped: ZeroDivisionError",
        f"presence: the record at offset 4 {reason}; 2 more records failed in the same way",
    ]


def test_rejected_records_are_logged_once_a_minute_and_reported_each(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cluster: Any = SimpleNamespace(topics=Topics(), producer=lambda **_: None)
    nothing: Any = SimpleNamespace(writer=None)
    made = LocalProducer(
        cluster, "GatewayA", threading.Event(), event_counts=nothing, traffic=nothing
    )
    events = list[Event]()
    monkeypatch.setattr(made, "emit", lambda source, key, event: events.append(event))
    for offset in range(3):
        made.give_up("too large", "in.GatewayA", BAD, (TOPIC, 0, offset))
    made.give_up("not authorized", "in.GatewayA", BAD, (TOPIC, 0, 3))
    assert [event["offset"] for event in events] == [0, 1, 2, 3]
    assert [record.getMessage() for record in caplog.records] == [
        "GatewayA: too large (in.GatewayA)",
        "GatewayA: not authorized (in.GatewayA)",
    ]


def test_the_causes_of_failures_are_limited() -> None:
    causes = Causes(lambda: 0.0)
    assert [causes.due(n) for n in range(3_000)] == [0] * 3_000
    assert len(causes._logged) <= 1_000


def kafka(code: int, *, fatal: bool = False) -> KafkaException:
    return KafkaException(KafkaError(code, fatal=fatal))


@pytest.mark.parametrize(
    ("error", "is_caused"),
    [
        (ZeroDivisionError("of course"), True),
        (MalformedError("sb-hop is missing"), True),
        (UnreadableError("It was deleted.", {5}, set()), True),
        (kafka(KafkaError.MSG_SIZE_TOO_LARGE), True),
        (kafka(KafkaError.INVALID_MSG_SIZE), True),
        (kafka(KafkaError.RECORD_LIST_TOO_LARGE), True),
        (kafka(KafkaError.INVALID_RECORD), True),
        (kafka(KafkaError.INVALID_TIMESTAMP), True),
        (kafka(KafkaError.INVALID_RECORD, fatal=True), False),
        (kafka(KafkaError._FAIL), False),
        (kafka(KafkaError.TOPIC_AUTHORIZATION_FAILED), False),
        (KafkaException("no KafkaError"), False),
        (SurroundingsError("Kafka is away."), False),
        (FencedError("Another process has the slot."), False),
        (UsageError("HOPLINE_PROPERTIES is wrong."), False),
    ],
)
def test_which_errors_a_record_causes(error: Exception, *, is_caused: bool) -> None:
    assert is_caused_by_record(error) is is_caused


AWAY = SurroundingsError("Kafka is away.")


def test_an_error_of_the_surroundings_is_no_records_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    made, output, buffered = processor(Remote())
    made.pass_on([message(BAD, 3)])
    failing(on="release", monkeypatch=monkeypatch, error=AWAY)
    buffered.limit(1 << 20)
    with pytest.raises(SurroundingsError):
        made.look_around()
    assert output.events == []


def test_mirrored_routes_that_cannot_be_evaluated_are_begun_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, output, buffered = processor(Remote())
    made.pass_on([message(BAD, 3)])

    def fail(now: int) -> None:
        raise ZeroDivisionError("of course")

    made._principals._routes[cast(Any, "a pair")] = cast(Any, SimpleNamespace(tick=fail))
    failing(on="release", monkeypatch=monkeypatch, error=ZeroDivisionError("of course"))
    buffered.limit(1 << 20)
    made.look_around()
    assert not made._principals.are_asked_for
    assert len(output.events) == 1, "buffered copies are decided again"


class Tx:
    """A transaction, and its steps; one of them fails."""

    def __init__(self, step: str, error: Exception) -> None:
        self.step, self.error = step, error
        self.abandoned: list[Any] = []

    def _do(self, step: str) -> list[Any]:
        if step == self.step:
            raise self.error
        return []

    def machine(self, key: object) -> None:
        self._do("machine")

    def close(self) -> None:
        self._do("close")

    def is_lost(self, which: int, position: int) -> bool:
        return False

    def to_move(self, moves: object) -> list[Any]:
        return [*self._do("to_move"), "a body"]

    def commit(self, parts: object, member: object) -> None:
        self._do("commit")

    def run(self, monkeypatch: pytest.MonkeyPatch) -> bool:
        """Move bodies; return whether that succeeded."""
        moves = SimpleNamespace(dialogs=("a dialog",))
        monkeypatch.setattr(module, "moves_of", lambda *_, **__: moves)
        endpoint = SimpleNamespace(begin=lambda *_, **__: self, abandon=self.abandoned.append)
        owned: Any = SimpleNamespace(
            positions={"cmd": 7, "in": 8, "ack": 9}, number=0, endpoint=endpoint, bodies=self
        )
        owned.trim_point = object()
        return move_bodies(owned, {}, self, None, 0)


STEPS = ("machine", "close", "to_move", "commit")


@pytest.mark.parametrize("step", STEPS)
def test_bodies_that_cannot_be_moved_stay(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    tx = Tx(step, ZeroDivisionError("of course"))
    assert tx.run(monkeypatch) is False
    assert tx.abandoned == [tx]


@pytest.mark.parametrize("step", STEPS)
def test_a_kafka_that_is_away_ends_the_move_and_the_worker(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with pytest.raises(SurroundingsError):
        Tx(step, AWAY).run(monkeypatch)


def refused(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> list[RejectReason | None]:
    """Refuse an item while the first transactions fail with these errors; return the attempts."""
    tried: list[RejectReason | None] = []

    def transact(_: WorkCommitter, owned: object, work: object, rejection: RejectReason) -> bool:
        tried.append(rejection)
        if len(tried) <= len(errors):
            raise errors[len(tried) - 1]
        return True

    monkeypatch.setattr(WorkCommitter, "_transact", transact)
    committer = WorkCommitter("A", *cast(Any, (None, None, None, None)))
    assert committer._refuse(*cast(Any, (None, None, RejectReason(Number.CORRUPTED_HEADER))))
    return tried


def test_an_item_whose_refusal_fails_is_reported_by_its_coordinates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = ZeroDivisionError("of course")
    number = Number.CORRUPTED_HEADER
    assert refused(monkeypatch, error) == [RejectReason(number), RejectReason(number, bare=True)]
    with pytest.raises(ZeroDivisionError):  # it is not the item's content
        refused(monkeypatch, error, error)


def test_an_endpoint_worker_logs_a_cause_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Applications may write such statements at any rate; each is reported by an event."""
    error, tried = ZeroDivisionError("of course"), list[object]()

    def transact(_: WorkCommitter, owned: object, work: object, rejection: object = None) -> bool:
        tried.append(rejection)
        if rejection is None:
            raise error
        return True

    monkeypatch.setattr(WorkCommitter, "_transact", transact)
    committer = WorkCommitter("A", *cast(Any, (None, None, None, None)))
    item = Work(messages=cast(Any, [object()]), opens=False)
    with caplog.at_level(logging.ERROR):
        assert all(committer._alone(cast(Any, None), item) for _ in range(3))
    assert sum(reason is not None for reason in tried) == 3
    assert ["1 record" in found.getMessage() for found in caplog.records] == [True]


def test_a_refusal_that_the_surroundings_prevent_is_not_shortened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SurroundingsError):
        refused(monkeypatch, AWAY)
