"""Take records that a client has fetched, a few at a time, up to a memory limit.

The client builds a list of all headers for each record that it returns. A header of one byte takes
64 bytes in the client and up to 200 in Python, and lz4 can compress a record with 99,000 such
headers to a kilobyte. So a thousand records that are taken together could use gigabytes before any
of them is counted.
"""

from __future__ import annotations

import time

from confluent_kafka import Consumer, Message

from streams.kafka.headers import HEADER_BYTES, headers_of
from streams.wire import MalformedError

BATCH = 1_000
"""Maximum number of records that :func:`take` returns, not counting the first."""
_GROUP = 8
"""Records per call of the client: at most 180 MB, and an additional 0.3 µs per ordinary record."""
_ROOM = 16 << 20
"""Number of bytes after which no more records are taken."""


def take(consumer: Consumer, timeout: float, most: int = BATCH) -> list[Message]:
    """Return available records; wait at most ``timeout`` seconds for the first."""
    first = consumer.poll(timeout)
    return [] if first is None else [first, *take_more(consumer, most)]


def take_more(consumer: Consumer, most: int, timeout: float = 0.0) -> list[Message]:
    """Return up to ``most`` records, fewer if they are large; wait up to ``timeout`` seconds."""
    taken, room, until = list[Message](), _ROOM, time.monotonic() + timeout
    while len(taken) < most and room > 0:
        asked = min(most - len(taken), _GROUP)
        group = consumer.consume(asked, max(0.0, until - time.monotonic()))
        taken += group
        if len(group) < asked:
            break
        # size_of would take three times as long, and count texts that the client already has
        room -= sum(map(len, group)) + HEADER_BYTES * sum(map(_count_of_headers, group))
    return taken


def _count_of_headers(message: Message) -> int:
    try:
        return len(headers_of(message))
    except MalformedError:
        return 0  # headers_of has dropped the headers
