"""Counters of workers, updated for each transaction or statistics report, not for each record.

One thread writes the figures, and another reads them. Each figure is replaced as a whole, but the
figures need not be consistent with each other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from operator import itemgetter

from streams.errors import Event
from streams.kafka import ReadStatistics, Statistics
from streams.node import Transaction

_kind = itemgetter("event", "error")


@dataclass(slots=True)
class EventCounts:
    """Counts of written events by (event class, error number), at most a few dozen pairs."""

    counts: Counter[tuple[int, int]] = field(default_factory=Counter)

    def one(self, event: Event) -> None:
        """Count an event."""
        self.counts[_kind(event)] += 1

    def of(self, event: int) -> Counter[int]:
        """Return the counts of an event class, by error number."""
        found: Counter[int] = Counter()
        for (kind, number), count in list(self.counts.items()):
            if kind == event:
                found[number] += count
        return found


@dataclass(slots=True)
class Committed:
    """Counts of an endpoint worker's committed work; ``rolled_back`` counts aborted transactions.

    ``longest``: the duration in seconds of the longest transaction, from first input to commit.
    """

    events: EventCounts = field(default_factory=EventCounts)
    transactions: int = 0
    rolled_back: int = 0
    statements: int = 0
    repeated: int = 0
    queued: int = 0
    frames: int = 0
    longest: float = 0.0

    def add(self, tx: Transaction, seconds: float) -> None:
        """Add a partition's part of a committed transaction."""
        self.longest = max(self.longest, seconds)
        self.statements += tx.statements
        self.repeated += tx.repeated
        self.queued += len(tx.queued)
        self.frames += len(tx.frames)
        self.events.counts.update(map(_kind, tx.events))


@dataclass(slots=True)
class Traffic:
    """Statistics of one worker's Kafka clients, received while they are polled.

    The producer's report is read only if ``wanted``, because reading it takes about 0.1 ms; the
    consumer's report is always read. ``lag``: the number of unread offsets by topic.
    """

    wanted: bool = False
    received: int = 0
    sent: int = 0
    messages_sent: int = 0
    pending: int = 0
    connections: int = 0
    lag: dict[str, int] = field(default_factory=dict)
    _open: dict[str, int] = field(default_factory=dict)

    @property
    def reader(self) -> ReadStatistics | None:
        """Return the callback for the consumer's statistics."""
        return self._read if self.wanted else None

    @property
    def writer(self) -> ReadStatistics | None:
        """Return the callback for the producer's statistics."""
        return self._written if self.wanted else None

    def _read(self, said: Statistics) -> None:
        self.received = said["rx_bytes"]
        self.lag = {name: _lag(topic) for name, topic in said["topics"].items()}
        self._connected(said)

    def _written(self, said: Statistics) -> None:
        self.sent, self.messages_sent = said["tx_bytes"], said["txmsg_bytes"]
        self.pending = said["msg_size"]
        self._connected(said)

    def _connected(self, said: Statistics) -> None:
        brokers = said["brokers"].values()
        self._open[str(said["type"])] = sum(broker["state"] == "UP" for broker in brokers)
        self.connections = sum(self._open.values())


def _lag(topic: dict[str, dict[str, dict[str, int]]]) -> int:
    return sum(max(0, p["consumer_lag"]) for p in topic["partitions"].values())
