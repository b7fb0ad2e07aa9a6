"""Events about dropped copies wait until the records after those copies are handled."""

from __future__ import annotations

import uuid

import pytest

from streams.errors import Event, EventKind
from streams.kafka import TopicPartition
from streams.node import event
from streams.protocol import Flag, Header
from streams.wire import MalformedError, decode_event, encode_header
from streams.wire.events import SimilarEvents
from streams.workers.forwarder import postponed_events
from streams.workers.forwarder.offset_tracker import OffsetTracker, Position
from streams.workers.forwarder.postponed_events import PostponedEvents

KEY = str(uuid.UUID(int=5)).encode()
DROPPED = SimilarEvents(event(EventKind.FORWARDED_MESSAGE_DROPPED, at=1, instance="SQL3"))


def header(number: int, kind: str = "DEFAULT") -> bytes:
    """Return the ``sb-message`` of a dialog's message."""
    return encode_header(Header(uuid.UUID(int=9), kind, number, 1_700_000_000_000, 0, Flag.NONE))


class Writers:
    """What is written: the events' positions and numbers, and the positions of refused copies."""

    def __init__(self) -> None:
        self.written: list[tuple[Position, int | None]] = []
        self.refused: list[Position] = []

    def emit(self, source: Position, key: bytes, _: Event, value: bytes) -> None:
        found = decode_event(value)
        assert found["conversation"] == key.decode()
        self.written.append((source, found["sequence"]))

    def refuse(self, source: Position, _: bytes, error: Exception) -> None:
        assert isinstance(error, MalformedError)
        self.refused.append(source)


@pytest.fixture
def writers() -> Writers:
    return Writers()


@pytest.fixture
def postponed(writers: Writers) -> PostponedEvents:
    return PostponedEvents(writers, writers)  # type: ignore[arg-type]


def test_a_turn_writes_some_and_offsets_wait_for_the_others(
    postponed: PostponedEvents, writers: Writers
) -> None:
    """A crash before an event is written makes the next worker read its copy again."""
    tracker = OffsetTracker()
    for offset in range(5):
        postponed.add(("txq", 0, offset), KEY, header(offset), DROPPED)
    postponed.add(("txq", 1, 70), KEY, header(70), DROPPED)
    tracker.note(("txq", 0), 9)
    tracker.note(("txq", 1), 71)

    def due() -> dict[int, int]:
        found: list[TopicPartition] = tracker.due(postponed.positions(), {})
        return {one.partition: one.offset for one in found}

    assert due() == {0: 0, 1: 70}
    postponed.write(1)
    assert due() == {0: 1, 1: 70}
    postponed.write(3)
    assert [number for _, number in writers.written] == [0, 70, 1, 2]
    assert due() == {0: 3, 1: 71}
    postponed.write_all()
    assert due() == {0: 9, 1: 71}
    assert not postponed


def test_a_malformed_copy_is_refused_and_holds_up_nothing(
    postponed: PostponedEvents, writers: Writers
) -> None:
    postponed.add(("txq", 0, 1), KEY, b"no header", DROPPED)
    postponed.add(("txq", 0, 2), KEY, None, DROPPED)
    postponed.add(("txq", 0, 3), KEY, header(3), DROPPED)
    postponed.write_all()
    assert writers.refused == [("txq", 0, 1), ("txq", 0, 2)]
    assert writers.written == [(("txq", 0, 3), 3)]


def test_partitions_take_turns(postponed: PostponedEvents, writers: Writers) -> None:
    """Expired copies of one writer without end do not hold up the offsets of others."""
    for offset in range(4):
        postponed.add(("ingress", 0, offset), KEY, header(offset), DROPPED)
    postponed.add(("txq", 0, 9), KEY, header(9), DROPPED)
    postponed.write(3)
    assert [topic for (topic, *_), _ in writers.written] == ["ingress", "txq", "ingress"]
    assert list(postponed.positions()) == [("ingress", 0, 2)]


def test_lost_partitions_are_forgotten(postponed: PostponedEvents, writers: Writers) -> None:
    """Another worker drops the copies again; older positions must not be committed here later."""
    for offset in range(3):
        postponed.add(("txq", 0, offset), KEY, header(offset), DROPPED)
    postponed.add(("txq", 1, 7), KEY, header(7), DROPPED)
    postponed.forget([TopicPartition("txq", 0), TopicPartition("txq", 2)])
    assert (len(postponed), list(postponed.positions())) == (1, [("txq", 1, 7)])
    postponed.write_all()
    assert writers.written == [(("txq", 1, 7), 7)]
    assert (len(postponed), postponed._size) == (0, 0)


def test_memory_is_limited(
    postponed: PostponedEvents, writers: Writers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the number of events, and by the bytes of a header, which another cluster may write."""
    two = 2 * postponed_events._weight(header(0), DROPPED)
    monkeypatch.setattr(postponed_events, "MOST", two)
    for offset in range(4):
        postponed.add(("txq", 0, offset), KEY, header(offset), DROPPED)
    assert len(postponed) == 2
    assert [number for _, number in writers.written] == [0, 1]
    postponed.add(("txq", 0, 4), KEY, header(4, "x" * 2_000), DROPPED)
    assert len(postponed) == 2
    assert [number for _, number in writers.written] == [0, 1, 4]
