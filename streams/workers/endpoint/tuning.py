"""Limits and batch sizes of an endpoint worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from streams.kafka import CACHE_BYTES
from streams.protocol import Limits
from streams.wire.records import LARGEST_BODY


class Pace(Enum):
    """The maximum size of a transaction in records, and the maximum wait for records in seconds.

    A transaction and each dialog in it have a fixed cost, which the records share. LATENCY takes
    the available records, up to about 50 ms of work; THROUGHPUT gathers records for up to a quarter
    of a second.
    """

    LATENCY = (1_000, 0.0)
    THROUGHPUT = (10_000, 0.25)


@dataclass(frozen=True, slots=True)
class Tuning:
    """The settings of an endpoint worker.

    ``cache_bytes`` limits the worker's cache of ``cmd`` and ``in``, across all partitions. The
    worker computes its trim points every ``trims_every`` seconds; never if it is ``None``.
    """

    limits: Limits | None = None
    cache_bytes: int = CACHE_BYTES
    pace: Pace = Pace.LATENCY
    trims_every: float | None = None

    @property
    def bounded(self) -> Limits:
        """Return limits that ensure that a body fits into one record of ``cmd`` or of a queue."""
        limits = self.limits or Limits()
        return replace(limits, body=min(limits.body, LARGEST_BODY))


AS_USUAL = Tuning()
