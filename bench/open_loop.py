"""Send at a fixed rate, regardless of stalls, and measure the latency of each message.

This is an open loop: message n is due at a time that was fixed beforehand, and its latency counts
from then, so a stall is included in every message that it has delayed. A body has the due time and
the send time in nanoseconds, and is padded to 400 bytes.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from streams.kafka import Consumer

SIZE = 400
LATE = 1_000_000
"""Nanoseconds after which a send counts as late."""
_MOMENTS = struct.Struct("<QQ")
_FILLING = os.urandom(SIZE - _MOMENTS.size)


@dataclass(frozen=True, slots=True)
class Journey:
    """The times at which one message was due, sent and read, in nanoseconds."""

    due: int
    sent: int
    read: int


@dataclass(frozen=True, slots=True)
class Latency:
    """The latencies of a load in seconds; ``late`` is the share of sends that were late."""

    p50: float
    p95: float
    p99: float
    late: float


def send(rate: float, count: int, give: Callable[[int, bytes], None]) -> None:
    """Send this number of bodies with their numbers, each when it is due and never earlier."""
    start = time.time_ns() + 100_000_000
    for number in range(count):
        due = start + int(number / rate * 1e9)
        wait = (due - time.time_ns()) / 1e9
        if wait > 0:
            time.sleep(wait)
        give(number, _MOMENTS.pack(due, time.time_ns()) + _FILLING)


def read(consumer: Consumer, count: int, patience: float = 60) -> list[Journey]:
    """Read this number of messages; raises TimeoutError if none arrives in time."""
    found: list[Journey] = []
    until = time.monotonic() + patience
    while len(found) < count:
        message = consumer.poll(0.1)
        if time.monotonic() > until:
            raise TimeoutError(f"{len(found)} of {count} messages came.")
        body = message.value() if message is not None and message.error() is None else None
        if isinstance(body, bytes) and len(body) == SIZE:
            due, sent = _MOMENTS.unpack_from(body)
            found.append(Journey(due, sent, time.time_ns()))
    return found


def latency(journeys: Sequence[Journey], skip: float = 0.1) -> Latency:
    """Return the latencies, without the first messages, which are a warm-up."""
    kept = sorted(journeys, key=lambda each: each.due)[int(len(journeys) * skip) :]
    took = sorted((each.read - each.due) / 1e9 for each in kept)
    late = sum(1 for each in kept if each.sent - each.due > LATE)
    return Latency(_at(took, 0.50), _at(took, 0.95), _at(took, 0.99), late / len(kept))


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
