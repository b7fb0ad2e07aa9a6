"""Topics shrink behind what is no longer needed (design rules 1 and 5): a thread of the process.

Workers say how far they may, each of the partitions that it owns and as of what it has *committed*:
an endpoint worker of ``cmd``, ``in`` and ``ack``, a forwarder of ``out`` and ``txq``. A queue may
shrink behind what the reading group that the catalog names for it has received; the owner of the
same partition sees to that. What is no longer needed stays readable for as long as it is told to.

It is never urgent, so nothing here is done twice at once or told as broken: the next time will do.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from streams.kafka import Cluster, KafkaException, read_positions, trim
from streams.workers.control import Control

log = logging.getLogger("hopline.trimming")

Spare = Mapping[tuple[str, int], int]
"""The first position that is still needed, by topic and partition."""


class Trimmed(Protocol):
    """A worker as it is seen here; another thread asks it."""

    instance: str

    @property
    def spare(self) -> Spare:
        """Return below which positions nothing is needed, of partitions that it owns."""

    @property
    def queues_of(self) -> Collection[int]:
        """Return the partitions of its instance's queues that are its to shorten."""


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
        self._told = ""

    def run(self, stop: threading.Event) -> None:
        """Shorten them now and then, until ``stop``."""
        while not stop.wait(every(self._keep)):
            try:
                self.once()
                self._told = ""
            except KafkaException as error:
                said = error.args[0].str()
                if said != self._told:
                    log.warning("topics are not trimmed: %s", said)
                self._told = said

    def once(self) -> None:
        """Shorten them."""
        spare = {place: end for worker in self._workers for place, end in worker.spare.items()}
        spare |= self._queues()
        before = self._control.now() - round(self._keep * 1000)
        for (topic, partition), begin in trim(self._cluster, spare, before).items():
            log.info("%s/%d begins at %d", topic, partition, begin)

    def _queues(self) -> dict[tuple[str, int], int]:
        found: dict[tuple[str, int], int] = {}
        for (instance, database, queue), group in self._control.world.reading_groups.items():
            numbers = {n for w in self._workers if w.instance == instance for n in w.queues_of}
            if numbers:
                topic = self._cluster.topics.queue(instance, database, queue)
                received = read_positions(self._cluster, group)
                found |= {(topic, n): received[topic, n] for n in numbers if (topic, n) in received}
        return found
