"""Traffic with everything that can go wrong, from a seed: as the records that it leaves in topics.

Lost messages and repeats do not happen: they are here so that it is seen that they would be told.
"""

from __future__ import annotations

import random
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from streams.protocol.frames import Flag
from streams.wire import Topics, encode_event
from tests.monitor.records import NOON, Delivery, Stored

MINUTE = 60_000
DISORDER = 30_000
"""How much later than it happened a record may be read, in ms."""

_FAULTS = {
    "none": 76, "lost": 2, "late": 1, "retry": 5, "restart": 4, "gateway": 4, "all": 3,
    "targets": 2, "replay": 1, "repeat": 1, "end": 1,
}  # fmt: skip
_SERVICES = ("InitiatorService", "//shop/Bestellung\u00e4")
_CLOSE = NOON + 48 * 60 * MINUTE


@dataclass(frozen=True, slots=True)
class _Message:
    at: int
    id: int
    fault: str
    dialog: int


def traffic(count: int, topics: Topics, *, seed: int, span: int) -> list[Stored]:
    """Return what ``count`` messages within ``span`` ms leave behind, in the order of reading."""
    chance = random.Random(seed)
    timed: list[tuple[float, Stored]] = []
    numbers: Counter[int] = Counter()
    lasts: defaultdict[int, int] = defaultdict(int)
    for message in sorted(_messages(chance, count, span), key=lambda m: (m.at, m.id)):
        number, dialog = numbers[message.dialog], message.dialog
        numbers[dialog] += 1
        first = _delivery(chance, message, number)
        # A queue gets a dialog's messages in order, and is read in order.
        first = _later(first, max(0, lasts[dialog] + 1 - first.visits[-1][1]))
        lasts[dialog] = first.visits[-1][1]
        for at, record in _records(chance, message, first, topics):
            ordered = record.topic.startswith(f"{topics.prefix}queue.")
            jitter = hash(dialog * 7_919) % DISORDER if ordered else chance.random() * DISORDER
            timed.append((at + jitter, record))
    return [record for _, record in sorted(timed, key=lambda pair: pair[0])]


def closing(topics: Topics) -> Stored:
    """Return a heartbeat from so much later that all sessions are over."""
    return Stored([], b"", _CLOSE, topics.presence, b"ServerA")


def _messages(chance: random.Random, count: int, span: int) -> Iterator[_Message]:
    faults = chance.choices(list(_FAULTS), list(_FAULTS.values()), k=count)
    for number, fault in enumerate(faults, 1):
        at, dialog = NOON + chance.randrange(span), chance.randrange(count // 8 + 1)
        if fault == "late":
            dialog += count  # one of its own: no other message waits for it
        yield _Message(at, number, fault, dialog)
        if fault == "replay":
            yield _Message(at + 20_000, number, "none", dialog)


def _records(
    chance: random.Random, message: _Message, first: Delivery, topics: Topics
) -> Iterator[tuple[int, Stored]]:
    """Yield what one message leaves behind, each with when it happened."""
    out = topics.out("ServerA")

    def sent(copy: Delivery) -> tuple[int, Stored]:
        return copy.sent_at, Stored(copy.transmitted, None, copy.enqueued_at, out, copy.key)

    def queued(copy: Delivery) -> tuple[int, Stored]:
        instance, _, database = copy.visits[-1][0].partition("/")
        topic = topics.queue(instance, database, "TargetQueue")
        return copy.visits[-1][1], Stored(copy.headers, None, copy.enqueued_at, topic)

    def removed(copy: Delivery) -> tuple[int, Stored]:
        at = copy.visits[-1][1] + 3
        return at, Stored(None, copy.removed(at=at), at, topics.event)

    yield sent(first)
    arrival = first.visits[-1][1]
    match message.fault:
        case "lost":
            if chance.random() < 0.5:
                yield arrival, Stored(None, _drop(first, arrival), arrival, topics.event)
            return
        case "late":
            yield queued(_later(first, chance.randrange(11, 20) * MINUTE))
            return
        case "retry":
            for attempt in range(1, chance.randrange(2, 4)):
                by = 4_000 * attempt + chance.randrange(2_000)
                again = replace(_later(first, by), attempt=attempt, sent_at=first.sent_at + by)
                yield sent(again)
                yield removed(again)
        case "restart":
            yield removed(_later(first, chance.randrange(500, 9_000)))
        case "gateway":
            by = chance.randrange(500, 9_000)
            visits = (first.visits[0], *_later(first, by).visits[1:])
            yield removed(replace(first, visits=visits))
        case "all":
            for hop in range(1, chance.randrange(2, 4)):
                visits = (first.visits[0], (f"Gateway{hop}", arrival), *first.visits[-2:])
                yield removed(replace(first, first_hop=hop, visits=visits))
        case "targets":
            there = (first.visits[0], ("ServerC", arrival), ("ServerC/DatabaseC", arrival + 4))
            yield queued(replace(first, visits=there))
        case "repeat":
            yield queued(_later(first, 700))
    yield queued(first)


def _delivery(chance: random.Random, message: _Message, number: int) -> Delivery:
    at, visits = message.at + 2, []
    gateway = chance.choice((("GatewayA",), ("GatewayB",), ()))
    for name in ("ServerA", *gateway, "ServerB", "ServerB/DatabaseB"):
        at += int(chance.expovariate(1 / 15)) + 1
        visits.append((name, at))
    return Delivery(
        id=message.id,
        enqueued_at=message.at,
        visits=tuple(visits),
        from_service=_SERVICES[message.dialog % 2],
        flags=Flag.END if message.fault == "end" else Flag.NONE,
        conversation=uuid.UUID(int=1_000_000 + message.dialog),
        sent_at=message.at + 2,
        sequence=number,
    )


def _later(delivery: Delivery, by: int) -> Delivery:
    return replace(delivery, visits=tuple((name, at + by) for name, at in delivery.visits))


def _drop(delivery: Delivery, at: int) -> bytes:
    return encode_event(
        {
            "event": 140, "error": 28072, "at": at, "instance": "GatewayA", "attempt": 0,
            "conversation": str(delivery.conversation),
            "message_id": str(uuid.UUID(int=delivery.id)),
        }
    )  # fmt: skip
