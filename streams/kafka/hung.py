"""Find hung transactions, which stop `read_committed` consumers at their first record.

Our producers commit, or the coordinator aborts, within 15 s (`transaction.timeout.ms`). If a
transaction stays open longer, the coordinator has lost it (for example KAFKA-20734), and it stays
open forever. Such a transaction is detected when the last stable offset stays below the log end and
does not advance.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from streams.errors import SurroundingsError
from streams.kafka.cluster import Cluster
from streams.kafka.committed import Offsets
from streams.kafka.lag import read_ends, read_highs

PATIENCE = 30.0
"""Seconds after which an open transaction cannot be ours: the timeout plus the time to detect that
the transaction has ended.
"""
_LOOK = 0.2


class Hung(NamedTuple):
    """A hung transaction: a partition, and the offset of its first record there."""

    topic: str
    partition: int
    offset: int

    @property
    def remedy(self) -> str:
        """Return instructions for aborting the transaction."""
        return (
            "If its producer is gone, abort it: kafka-transactions.sh --bootstrap-server HOST:PORT "
            f"abort --topic {self.topic} --partition {self.partition} --start-offset {self.offset}."
        )

    def __str__(self) -> str:
        return (
            f"A transaction hangs in {self.topic}/{self.partition} at offset {self.offset}: "
            "read_committed consumers cannot read beyond it."
        )


class HungTransactions:
    """Track how long the first open transaction of each partition has been open."""

    def __init__(
        self,
        cluster: Cluster,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster, self._patience, self._clock = cluster, patience, clock
        self.open: dict[Hung, float] = {}

    def look(self, topics: Sequence[str]) -> tuple[Hung, ...]:
        """Check once; return the transactions that have been open for ``patience`` seconds."""
        stable = read_ends(self._cluster, topics)
        highs = read_highs(self._cluster, topics)
        now = self._clock()
        found = (Hung(*place, at) for place, at in stable.items() if at < highs.get(place, at))
        self.open = {each: self.open.get(each, now) for each in found}
        return tuple(each for each, since in self.open.items() if now - since >= self._patience)


def find_hung(
    cluster: Cluster, topics: Sequence[str], patience: float = PATIENCE
) -> tuple[Hung, ...]:
    """Return the hung transactions in topics; return immediately if no transaction is open."""
    watch = HungTransactions(cluster, patience)
    hung, candidates = watch.look(topics), set(watch.open)
    while candidates and not hung:
        time.sleep(_LOOK)
        hung = watch.look(list({each.topic for each in candidates}))
        candidates &= set(watch.open)
    return tuple(each for each in hung if each in candidates)


def await_committed(cluster: Cluster, ends: Offsets, timeout: float) -> None:
    """Wait until all transactions before these ends have been committed or aborted.

    Raises SurroundingsError if a transaction stays open for ``timeout`` seconds.
    """
    for hung in find_open(cluster, ends, timeout):
        raise still_open(hung, timeout)


def find_open(cluster: Cluster, ends: Offsets, timeout: float) -> tuple[Hung, ...]:
    """Return the transactions before these ends that stay open for ``timeout`` seconds.

    Returns early when no open transaction is left.
    """
    topics = list(dict.fromkeys(topic for topic, _ in ends))
    deadline = time.monotonic() + timeout
    while True:
        stable = read_ends(cluster, topics)
        open_ = [where for where, end in ends.items() if stable.get(where, end) < end]
        if not open_ or time.monotonic() > deadline:
            return tuple(Hung(*where, stable[where]) for where in sorted(open_))
        time.sleep(_LOOK)


def still_open(hung: Hung, timeout: float) -> SurroundingsError:
    """Return the error about a transaction that stays open, with its remedy."""
    return SurroundingsError(
        f"A transaction has been open in {hung.topic}/{hung.partition} for {timeout:.0f} s, at "
        f"offset {hung.offset}: read_committed consumers cannot read beyond it.",
        f"Retry after its timeout. {hung.remedy}",
    )
