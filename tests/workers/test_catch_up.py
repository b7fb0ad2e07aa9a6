"""A record that needs the end of the catalog neither ends a worker nor delays it for long."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streams.errors import Event, EventKind
from streams.kafka import Cluster, KafkaError, KafkaException, Message
from streams.node import catalog_of
from streams.protocol import DEFAULT, Command, CommandKind, Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import load, share_of
from streams.wire import Topics, UnknownSchemaError
from streams.wire.records import COMMAND, ROUTE, Headers, command_record, message_record
from streams.workers.control import catch_up
from streams.workers.control.catch_up import PAUSE, SOON, CatchUp
from streams.workers.endpoint.inputs import HeldBackError, Inputs, Intake
from streams.workers.forwarder.buffered_copies import BufferedCopies
from streams.workers.forwarder.offset_tracker import OffsetTracker
from streams.workers.forwarder.processor import Processor
from streams.workers.forwarder.restart_state import Lasting
from streams.workers.ownership import _SLEPT
from tests.running import DEADLINE
from tests.workers.tomorrow import newer, under

TOPICS = Topics()
OUTAGE = KafkaException(KafkaError(KafkaError._TIMED_OUT, "no leader for the catalog"))
NOW = 1_790_000_000_000
PARTIES = Parties("OrderService", "DatabaseA", "SupplierService", "DatabaseB", DEFAULT, True)


@dataclass
class Clock:
    """The monotonic clock."""

    now: float = 1_000.0

    def monotonic(self) -> float:
        return self.now


@dataclass
class Asked:
    """A client that is asked for the end of the catalog; an outage takes all the time it gets."""

    clock: Clock
    end: int | None = None
    timeouts: list[float] = field(default_factory=list)

    def consumer(self, _: str) -> Asked:
        return self

    def get_watermark_offsets(self, _: Any, timeout: float) -> tuple[int, int]:
        self.timeouts.append(timeout)
        if self.end is None:
            self.clock.now += timeout
            raise OUTAGE
        return 0, self.end


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the time that ``CatchUp`` sees."""
    made = Clock()
    monkeypatch.setattr(catch_up, "time", made)
    return made


def end_of(asked: Asked) -> CatchUp:
    cluster = SimpleNamespace(topics=TOPICS, consumer=asked.consumer)
    return CatchUp(cast(Cluster, cluster), TOPICS.catalog, DEADLINE)


def test_many_records_wait_once_for_an_end_that_is_unknown(clock: Clock) -> None:
    asked = Asked(clock)
    end, began = end_of(asked), clock.now
    assert not any(end.try_wait(clock.now) for _ in range(1_000))
    assert asked.timeouts == [SOON] and clock.now == began + SOON
    assert SOON < _SLEPT, "a pair's worker would read the catalog before it goes on"
    clock.now += PAUSE
    assert not end.try_wait(clock.now) and len(asked.timeouts) == 2
    clock.now, asked.end = clock.now + PAUSE, 7
    end.move(7)
    assert end.try_wait(clock.now)
    clock.now += 1
    assert end.try_wait(clock.now), "the pause is over"


def test_a_catalog_that_is_not_read_to_its_end_is_waited_for_once(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catch_up, "SOON", 0.0)
    asked = Asked(clock, end=7)
    end = end_of(asked)
    end.move(6)
    assert not any(end.try_wait(clock.now) for _ in range(3)) and len(asked.timeouts) == 1
    assert not end.awaited.is_set()
    clock.now += PAUSE
    end.move(7)
    assert end.try_wait(clock.now)


def test_who_must_wait_delays_no_record_of_another_worker(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that confirms its role may wait for half a minute."""
    monkeypatch.setattr(catch_up, "SOON", 0.0)
    asked = Asked(clock, end=7)
    end = end_of(asked)
    waiting = threading.Thread(target=end.wait, args=[clock.now])
    waiting.start()
    assert end.awaited.wait(DEADLINE)
    assert not end.try_wait(clock.now)
    assert not end._may_try(clock.now), "the next record does not wait, either"
    end.move(7)
    waiting.join(DEADLINE)
    assert end.try_wait(clock.now) and len(asked.timeouts) == 1, "the other has waited for both"


def test_a_process_that_stops_waits_no_longer(clock: Clock) -> None:
    end, stop = end_of(Asked(clock, end=7)), threading.Event()
    waiting = threading.Thread(target=end.wait, args=[clock.now, stop])
    waiting.start()
    assert end.awaited.wait(DEADLINE)
    stop.set()
    waiting.join(DEADLINE / 2)
    assert not waiting.is_alive() and end._through < clock.now


# --- the workers' records -------------------------------------------------------------------------


def frame(topic: str) -> Message:
    """Return the first message of a dialog, in a schema that nobody knows."""
    header = Header(uuid.uuid4(), DEFAULT, 0, NOW, NOW + 3_600_000)
    journey = Journey(10, NOW + 60_000, 0, NOW)
    key, value, headers = message_record(uuid.uuid4(), PARTIES, header, journey, b"<a/>")
    return record(topic, key, value, under(headers, ROUTE, newer("Route")))


def record(topic: str, key: bytes, value: bytes | None, headers: Headers) -> Message:
    return Message(topic, 0, 3, key, value, headers=list(headers), timestamp=(1, NOW))


class Writer:
    """What a forwarder writes: only the events count here."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, _source: Any, _key: Any, event: Event, _value: bytes | None = None) -> None:
        self.events.append(event)

    def copy(self, *_: Any) -> None:
        raise AssertionError

    def report(self, *_: Any) -> None:
        pass

    def limit(self, _: int) -> None:
        pass


def test_a_forwarder_reports_a_frame_while_the_end_of_the_catalog_is_unknown(
    clock: Clock,
) -> None:
    view = catalog_of(share_of(load(topologies_dir() / "two_clusters", 0.0), "buyer"), 1)
    asked, written = Asked(clock), Writer()
    control = SimpleNamespace(
        catalog=view,
        now=lambda: NOW,
        claims=lambda _: None,
        try_catch_up=end_of(asked).try_wait,
    )
    ownership = SimpleNamespace(instance="GatewayA", home="GatewayA", may_go=False)
    processor = Processor(
        SimpleNamespace(topics=TOPICS),  # type: ignore[arg-type]
        ownership,  # type: ignore[arg-type]
        control,  # type: ignore[arg-type]
        Lasting(BufferedCopies(lambda _: True), written),  # type: ignore[arg-type]
        written,  # type: ignore[arg-type]
        OffsetTracker(),
    )
    processor.inputs()
    topics = TOPICS.out("GatewayA"), TOPICS.txq("GatewayA"), TOPICS.ingress("GatewayA", "seller")
    processor.pass_on([frame(topic) for topic in topics])
    assert [(e["event"], e["topic"]) for e in written.events] == [
        (EventKind.CORRUPTED_MESSAGE, topic) for topic in topics
    ]
    assert asked.timeouts == [SOON]


def test_an_endpoint_reports_a_frame_and_holds_back_a_statement_meanwhile(clock: Clock) -> None:
    asked, inputs = Asked(clock), Inputs.of(TOPICS, "A")
    intake = Intake(inputs, 1, end_of(asked).try_wait, lambda _: False)
    begin = Command(uuid.uuid4(), uuid.uuid4(), CommandKind.BEGIN, "DatabaseA", to_service="New")
    key, value, headers = command_record(begin)
    statement = record(inputs.cmd, key, value, under(headers, COMMAND, newer("Command")))
    for _ in range(2):
        assert isinstance(intake.read(frame(inputs.inbox), clock.now), UnknownSchemaError)
        with pytest.raises(HeldBackError, match="unknown fingerprint"):
            intake.read(statement, clock.now)
    assert asked.timeouts == [SOON]
