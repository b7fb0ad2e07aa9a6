"""Topics shrink behind what is no longer needed (design rules 1 and 5): a thread of the process.

Workers say how far they may, each of the partitions that it owns and as of what it has *committed*:
an endpoint worker of ``cmd``, ``in`` and ``ack``, a forwarder of ``out``, ``txq`` and ``ingress``.
A queue may shrink behind what the reading group that the catalog names for it has received; the
owner of the same partition sees to that. What is no longer needed stays readable for as long as it
is told to.

It is never urgent: what Kafka refuses, or does not answer, is tried again the next time. Anything
else that goes wrong ends the process: nobody would notice that only the trimming has ended.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

from streams.kafka import Cluster, KafkaException, first_since, read_positions, trim
from streams.node import home_of
from streams.workers.control import Control
from streams.workers.endpoint import EndpointWorker

log = logging.getLogger("hopline.trimming")

TrimPoints = Mapping[tuple[str, int], int]
"""The first position that is still needed, by topic and partition."""


class Trimmed(Protocol):
    """A worker as it is seen here; another thread asks it."""

    instance: str

    @property
    def trim_points(self) -> TrimPoints:
        """Return below which positions nothing is needed, of partitions that it owns."""


def every(keep: float) -> float:
    """Return how often to look, in seconds: a log is longer than it must be by a tenth at most."""
    return min(60.0, max(1.0, keep / 10))


class Trimming:
    """Shorten the topics of a process's workers; ``keep`` is in seconds."""

    def __init__(
        self, cluster: Cluster, control: Control, workers: Sequence[Trimmed], keep: float
    ) -> None:
        self._cluster, self._control = cluster, control
        self._workers, self._keep = workers, keep
        self._logged = ""

    def run(self, stop: threading.Event) -> None:
        """Shorten them now and then, until ``stop``."""
        while not stop.wait(every(self._keep)):
            try:
                self.once()
                self._logged = ""
            except KafkaException as error:
                refusal = error.args[0].str()
                if refusal != self._logged:
                    log.warning("topics are not trimmed: %s", refusal)
                self._logged = refusal

    def once(self) -> None:
        """Shorten them, and let endpoint workers know what could go if it were not needed."""
        trim_points = {
            place: end for worker in self._workers for place, end in worker.trim_points.items()
        }
        trim_points |= self._received()
        kept_since = self._control.now() - round(self._keep * 1000)
        young = first_since(self._cluster, trim_points, kept_since)
        for worker in self._endpoints:
            worker.assignment.young = {
                place: young.get(place, sys.maxsize) for place in trim_points
            }
        begins = {place: min(end, young.get(place, end)) for place, end in trim_points.items()}
        for (topic, partition), begin in trim(self._cluster, begins).items():
            log.info("%s/%d begins at %d", topic, partition, begin)

    @property
    def _endpoints(self) -> list[EndpointWorker]:
        return [worker for worker in self._workers if isinstance(worker, EndpointWorker)]

    def _received(self) -> dict[tuple[str, int], int]:
        """Return how far reading groups have come in queues.

        A partition of a queue is looked after by whoever owns the one of its number, or of what is
        left of it where a queue has more of them than its instance.
        """
        found: dict[tuple[str, int], int] = {}
        catalog = self._control.catalog
        owned: dict[tuple[str, str], set[int]] = {}
        for worker in self._endpoints:
            here = (worker.instance, worker.ownership.home)
            owned.setdefault(here, set()).update(list(worker.assignment.owned))
        for (instance, database, queue), group in catalog.reading_groups.items():
            home = home_of(catalog, instance, database)
            topic = self._cluster.topics.queue(home, database, queue)
            numbers, count = owned.get((instance, home)), catalog.partitions[instance]
            if numbers:
                passed = read_positions(self._cluster, group).items()
                mine = (p for p in passed if p[0][0] == topic and p[0][1] % count in numbers)
                found |= dict(mine)
        return found
