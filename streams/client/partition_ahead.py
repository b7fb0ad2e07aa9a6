"""What is read ahead of one partition of a queue, and how much that may be.

Whoever sends messages decides how large they are, so bytes have a limit beside the number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.node import Progress, ReadyQueue, ReadyRow
from streams.protocol import Message as Frame

READ_AHEAD = 580
"""Messages of a partition among which the next one is chosen; bounds the offset's metadata."""
READ_AHEAD_BYTES = 32_000_000
"""Bytes that a member reads ahead of all its partitions; beside them one message of each."""
HOLDER = "application"
"""In whose name messages are received: a member has one transaction at a time."""


def most_bytes(partitions: int) -> int:
    """Return how much may be read ahead of each of so many partitions."""
    return READ_AHEAD_BYTES // max(1, partitions)


@dataclass(slots=True)
class Ahead:
    """What is read of one partition; ``stored`` is the progress that Kafka knows.

    ``frames`` are the messages that Kafka does not know to be received, ``size`` their bytes.
    """

    queue: ReadyQueue
    stored: Progress
    frames: dict[int, Frame] = field(default_factory=dict)
    size: int = 0
    paused: bool = False

    def put(self, row: ReadyRow, frame: Frame) -> None:
        """Take a message that was read; one that was received before is not kept."""
        if row.order not in self.frames and not self.queue.progress.has(row.order):
            self.frames[row.order] = frame
            self.size += len(frame.body)
        self.queue.put(row)

    def forget(self, stored: Progress) -> None:
        """Forget the messages that Kafka knows to be received."""
        for order in [order for order in self.frames if stored.has(order)]:
            self.size -= len(self.frames.pop(order).body)

    @property
    def ahead(self) -> int:
        """Return the bytes of the messages that can be received.

        What a transaction has received does not count: else one of many messages would never end.
        """
        return sum(len(self.frames[order].body) for order in self.queue.orders())

    def is_full(self, most: int) -> bool:
        """Tell whether to read no more than ``most`` bytes, and READ_AHEAD messages.

        A partition that is paused goes on at half of it: Kafka's client fetches again what it had
        beyond that, and may take half a second until it begins.
        """
        part = 2 if self.paused else 1
        if len(self.queue) >= READ_AHEAD // part:
            return True
        return self.size >= most // part and self.ahead >= max(1, most // part)
