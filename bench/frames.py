"""Copies of messages as a forwarder writes them into ``in``, without a sender."""

from __future__ import annotations

import os
import time
import uuid

from bench.backlog import System
from bench.kafka_end_to_end import FROM, TO
from bench.worker_processes import TARGET
from streams.kafka import Producer
from streams.protocol import Flag, Header, Journey, Parties
from streams.wire.records import INSIDE, ORIGIN, message_record

BODY, DAY = os.urandom(400), 86_400_000
_PARTIES = Parties(TO, None, FROM, "DatabaseA", "DEFAULT", True)


def write_frame(
    producer: Producer, topic: str, dialog: uuid.UUID, number: int, message: uuid.UUID, sent: int
) -> None:
    """Write the copy of a dialog's message with this number, sent at ``sent`` (epoch ms)."""
    header = Header(message, "DEFAULT", number, sent, sent + DAY, Flag.NONE)
    journey = Journey(16, sent + DAY, 0, sent, 0, (("SQL1", sent), ("SQL2", sent + 20)))
    key, value, headers = message_record(dialog, _PARTIES, header, journey, BODY)
    producer.produce(topic, value, key, headers=[*headers, (ORIGIN, INSIDE)])  # type: ignore[arg-type]


def write_frames(system: System, dialogs: int, count: int) -> None:
    """Write copies of the messages of new dialogs into the target's ``in``, by turns.

    A sender has at most 30,000 copies in flight, so a million copies would take many senders. The
    sender does not know these dialogs, and ignores their acknowledgements.
    """
    producer, topic = system.cluster.producer(linger_ms=20), system.cluster.topics.inbox(TARGET)
    ids = [uuid.uuid4() for _ in range(dialogs)]
    now = time.time_ns() // 1_000_000
    for number in range(count):
        write_frame(producer, topic, ids[number % dialogs], number // dialogs, uuid.uuid4(), now)
        if number % 1_000 == 0:
            producer.poll(0)
    producer.flush()
    system.sent += count
