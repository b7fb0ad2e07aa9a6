"""What an endpoint worker is told about how to work: bounds, and how much it does at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from streams.kafka import CACHE_BYTES
from streams.protocol import Limits
from streams.wire.records import LARGEST_BODY


class Pace(Enum):
    """How long a transaction may become: so many records, and so many seconds of waiting for them.

    What a transaction costs for itself and for each dialog in it is shared by its records. LATENCY
    takes what is there, about 50 ms of work; THROUGHPUT gathers for half a second at most.
    """

    LATENCY = (1_000, 0.0)
    THROUGHPUT = (10_000, 0.25)


@dataclass(frozen=True, slots=True)
class Tuning:
    """How an endpoint worker works.

    ``cache_bytes`` bounds what it keeps in memory of ``cmd`` and ``in``, over all partitions. Every
    ``trims_every`` seconds it computes its trim points anew; ``None``: never.
    """

    limits: Limits | None = None
    cache_bytes: int = CACHE_BYTES
    pace: Pace = Pace.LATENCY
    trims_every: float | None = None

    @property
    def bounded(self) -> Limits:
        """Return the limits, with bodies of one record: a command, or a queue's message."""
        limits = self.limits or Limits()
        return replace(limits, body=min(limits.body, LARGEST_BODY))


AS_USUAL = Tuning()
