"""The read-ahead of one partition of a queue, and its limits.

Senders determine the size of messages, so there is a limit in bytes as well as in number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.node import Progress, ReadyQueue, ReadyRow
from streams.protocol import Message as Frame

READ_AHEAD = 580
"""Number of messages from which a partition's next message is chosen; bounds offset metadata."""
READ_AHEAD_BYTES = 32_000_000
"""Bytes that a member reads ahead in all its partitions, plus one message per partition."""
NOTE = 3_500
"""Characters of an offset's metadata at which reading ahead stops; Kafka stores up to 4,096. The
metadata becomes this long if received and waiting messages alternate thousands of times."""
HOLDER = "application"
"""The owner of received messages, because a member has one transaction at a time."""


def most_bytes(partitions: int) -> int:
    """Return the number of bytes to read ahead per partition."""
    return READ_AHEAD_BYTES // max(1, partitions)


@dataclass(slots=True)
class Ahead:
    """The messages read ahead in one partition; ``stored`` is the progress committed to Kafka.

    ``frames`` are messages whose receipt is not committed yet, ``sizes`` are the bytes of their
    records with headers, and ``size`` is the sum. ``at_end``: every committed record was read.
    """

    queue: ReadyQueue
    stored: Progress
    frames: dict[int, Frame] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    size: int = 0
    paused: bool = False
    at_end: bool = False

    def put(self, row: ReadyRow, frame: Frame, size: int) -> None:
        """Buffer a message, unless it was received before; ``size`` is the record's size."""
        if row.order not in self.frames and not self.queue.progress.has(row.order):
            self.frames[row.order], self.sizes[row.order] = frame, size
            self.size += size
        self.queue.put(row)

    def forget(self, stored: Progress) -> None:
        """Drop messages whose receipt is committed."""
        for order in [order for order in self.frames if stored.has(order)]:
            del self.frames[order]
            self.size -= self.sizes.pop(order)

    @property
    def ahead(self) -> int:
        """Return the bytes of the records that can be received.

        Messages received in the current transaction do not count; otherwise a large transaction
        would never end.
        """
        return sum(self.sizes[order] for order in self.queue.orders())

    def is_full(self, most: int) -> bool:
        """Return whether to stop reading: at ``most`` bytes, or at READ_AHEAD messages.

        A paused partition resumes at half of these limits, because Kafka's client must then refetch
        the messages that it had buffered, which may take half a second.
        """
        part = 2 if self.paused else 1
        waiting = len(self.queue)
        if waiting >= READ_AHEAD // part:
            return True
        if waiting >= READ_AHEAD // 4 and len(self.queue.progress.encode()) >= NOTE // part:
            return True
        return self.size >= most // part and self.ahead >= max(1, most // part)
