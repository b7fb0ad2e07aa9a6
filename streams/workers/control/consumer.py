"""The consumer of ``catalog`` and ``presence``, configured for a few heartbeats or for many.

A few heartbeats are read as soon as they are written. With many heartbeats, ``control`` pauses
between reads, and the consumer polls the broker less often. This reduces the CPU time of a process
in a cluster of 1,000 names to a quarter. Kafka's client cannot be reconfigured, so ``consumer``
replaces the client.
"""

from __future__ import annotations

import logging

from streams.kafka import (
    GATHERED,
    OFFSET_BEGINNING,
    CheckedConsumer,
    Cluster,
    Message,
    ReadStatistics,
    TopicPartition,
    is_at_end,
    pausing,
    start_before_newest,
    take,
    watermarks,
)
from streams.protocol import LONGEST_PERIOD
from streams.wire import MalformedError, decode_presence, period_in

log = logging.getLogger("hopline.control")

_RECENT = 10.0
"""Reading starts this many heartbeat periods before the newest heartbeat.

If all heartbeats of a process are older, the process is not alive.
"""
_CHECK = 0.2
"""Time between two checks of a pausing client for unconsumed records, in heartbeat periods."""


class ControlConsumer:
    """Read the catalog from its start, and heartbeats from ten periods before the newest heartbeat.

    ``positions`` are the next offsets of ``catalog`` and of ``presence``.
    """

    def __init__(self, cluster: Cluster, stats: ReadStatistics) -> None:
        self._cluster, self._topics, self._stats = cluster, cluster.topics, stats
        self._period: float | None = None
        self.client = self._made()
        # A client that already has the metadata starts to read sooner.
        watermarks(self.client, self._topics.catalog, 0)
        start, _ = start_before_newest(self.client, self._topics.presence, _recent)
        self.catalog, self.presence = OFFSET_BEGINNING, start
        self._assign()

    def take(self, timeout: float) -> list[Message]:
        """Return available records; wait at most ``timeout`` seconds for the first."""
        return take(self.client, timeout)

    @property
    def at_end(self) -> bool:
        """Return whether ``presence`` was read to its end as of the last fetch."""
        return is_at_end(self.client, self._topics.presence, self.presence)

    @property
    def end_of_catalog(self) -> int | None:
        """Return the end of ``catalog`` as of the last fetch, if it was read to that end."""
        if self.catalog < 0:  # nothing was read since the assignment
            return None
        [where] = self.client.position([TopicPartition(self._topics.catalog, 0)])
        position = max(self.catalog, where.offset)  # after transaction markers
        return position if is_at_end(self.client, self._topics.catalog, position) else None

    def suit(self, period: float | None) -> None:
        """Replace the client if its configuration does not suit the pauses between two reads.

        ``period``: seconds between two heartbeats of a name, which determine the length of the
        pauses; ``None`` if there are no pauses.
        """
        if period == self._period:
            return
        log.debug("heartbeats are read %s", "as they come" if period is None else "with pauses")
        self._period = period
        before, self.client = self.client, self._made()
        self._assign()
        before.close()

    def read_catalog_again(self) -> None:
        """Continue at the start of the catalog."""
        self.catalog = OFFSET_BEGINNING
        self._assign()

    def close(self) -> None:
        """Close the client."""
        self.client.close()

    def _made(self) -> CheckedConsumer:
        return self._cluster.consumer(
            f"{self._topics.prefix}control",
            auto_offset_reset="earliest",
            enable_partition_eof=True,
            stats=self._stats,
            **(GATHERED if self._period is None else pausing(_CHECK * self._period)),
        )

    def _assign(self) -> None:
        catalog = TopicPartition(self._topics.catalog, 0, self.catalog)
        presence = TopicPartition(self._topics.presence, 0, self.presence)
        self.client.assign([catalog, presence])


def _recent(newest: Message) -> float:
    """Return the maximum age in seconds of a live name's last heartbeat before the newest one."""
    try:
        return _RECENT * period_in(decode_presence(newest.value()))
    except MalformedError:
        return _RECENT * LONGEST_PERIOD
