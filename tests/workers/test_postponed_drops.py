"""A forwarder returns to a queue of expired copies: what can still be delivered comes first."""

from __future__ import annotations

import time
import uuid
from typing import Any

from streams.errors import EventKind, Number
from streams.kafka import TopicPartition
from streams.protocol import Header, Journey, Parties
from streams.wire.records import message_record
from tests.workers.rig import Hook, Rig, eventually, pause

EXPIRED = 5_000
PARTIES = Parties("TargetService", None, "InitiatorService", "DatabaseA", "DEFAULT", True)


def write_copies(two: Rig, now: int) -> None:
    """Write expired copies of a dialog's messages into the queue of B, and then one in time."""
    producer, dialog = two.cluster.producer(linger_ms=20), uuid.UUID(int=1)
    for number in range(EXPIRED + 1):
        expires = now + 60_000 if number == EXPIRED else now - 20_000
        header = Header(uuid.UUID(int=number), "DEFAULT", number, now - 80_000, now + 10**8)
        journey = Journey(16, expires, 0, now - 80_000, 0, (("A", now - 80_000),))
        key, value, headers = message_record(dialog, PARTIES, header, journey, b"body")
        producer.produce(two.topics.txq("B"), value, key, headers=headers)  # type: ignore[arg-type]
    assert producer.flush(30) == 0


def test_a_copy_in_time_is_delivered_before_all_drops_are_reported(two: Rig) -> None:
    """Then each drop is reported, and only then its offset is committed."""
    txq, inbox, event = two.topics.txq("B"), two.topics.inbox("B"), two.topics.event
    written: list[str] = []
    committed: list[tuple[int, int]] = []

    def produce(method: Hook, topic: str, *args: Any, **given: Any) -> None:
        written.append(topic)
        method(topic, *args, **given)

    def commit(method: Hook, *, offsets: list[TopicPartition], **given: Any) -> None:
        committed.extend((one.offset, written.count(event)) for one in offsets if one.topic == txq)
        method(offsets=offsets, **given)

    write_copies(two, time.time_ns() // 1_000_000)
    two.forwarder("B", hooks={"produce": produce, "commit": commit})
    two.until(inbox, 1)
    dropped = {
        "event": EventKind.FORWARDED_MESSAGE_DROPPED,
        "error": Number.TIME_TO_LIVE_EXCEEDED,
    }
    events = two.events(EXPIRED, **dropped)
    assert sorted(found["sequence"] or 0 for found in events) == list(range(EXPIRED))
    assert 0 < written[: written.index(inbox)].count(event) < EXPIRED
    end = EXPIRED + 1
    eventually(lambda: two.committed("forwarder", txq, "B") == end or pause(), "all is committed")
    assert all(offset <= reported for offset, reported in committed if offset < end)
    assert all(reported == EXPIRED for offset, reported in committed if offset == end)
