"""Trim processed records from topics (docs/kafka_mapping.md, 1 and 5), in a thread.

Workers report trim points of their partitions, based on *committed* state: an endpoint worker for
``cmd``, ``in`` and ``ack``, a forwarder for ``out``, ``txq`` and ``ingress``. A queue is trimmed
below the position of the consumer group that the catalog names, by the owner of the same partition.
Processed records are kept for the configured retention.

Trimming is never urgent, so if Kafka refuses or does not respond, the next pass retries. Any other
error stops the process; otherwise it would go unnoticed that trimming has stopped.
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
from streams.workers.pulse import beat, rest

log = logging.getLogger("hopline.trimming")

TrimPoints = Mapping[tuple[str, int], int]
"""The first offset that is still needed, by topic and partition."""


class Trimmed(Protocol):
    """The interface of a worker for trimming; another thread uses it."""

    instance: str

    @property
    def trim_points(self) -> TrimPoints:
        """Return the offsets below which no record is needed, for the worker's partitions."""


def every(keep: float) -> float:
    """Return the trim interval in seconds, with which logs are at most a tenth too large."""
    return min(60.0, max(1.0, keep / 10))


class Trimming:
    """Trim the topics of a process's workers; ``keep`` is in seconds."""

    def __init__(
        self, cluster: Cluster, control: Control, workers: Sequence[Trimmed], keep: float
    ) -> None:
        self._cluster, self._control = cluster, control
        self._workers, self._keep = workers, keep
        self._logged = ""

    def run(self, stop: threading.Event) -> None:
        """Trim periodically, until ``stop``."""
        while not stop.wait(every(self._keep)):
            beat()
            try:
                self.once()
                self._logged = ""
            except KafkaException as error:
                refusal = error.args[0].str()
                if refusal != self._logged:
                    log.warning("topics are not trimmed: %s", refusal)
                self._logged = refusal
            finally:
                rest()

    def once(self) -> None:
        """Trim once; pass endpoint workers the first offsets that are too recent to trim."""
        trim_points = {
            place: end for worker in self._workers for place, end in worker.trim_points.items()
        }
        received, refused = self._received()
        trim_points |= received
        beat()  # each of these requests may take 30 s to time out
        kept_since = self._control.now() - round(self._keep * 1000)
        young = first_since(self._cluster, trim_points, kept_since)
        for worker in self._endpoints:
            worker.assignment.young = {
                place: young.get(place, sys.maxsize) for place in trim_points
            }
        begins = {place: min(end, young.get(place, end)) for place, end in trim_points.items()}
        beat()
        for (topic, partition), begin in trim(self._cluster, begins).items():
            log.info("%s/%d begins at %d", topic, partition, begin)
        if refused is not None:
            raise refused

    @property
    def _endpoints(self) -> list[EndpointWorker]:
        return [worker for worker in self._workers if isinstance(worker, EndpointWorker)]

    def _received(self) -> tuple[dict[tuple[str, int], int], KafkaException | None]:
        """Return the positions of the queues' consumer groups, and a refusal of Kafka, if any.

        A queue's partition belongs to the owner of the partition with the same number, modulo the
        instance's number of partitions.
        """
        found: dict[tuple[str, int], int] = {}
        refused: KafkaException | None = None
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
                beat()
                try:
                    passed = read_positions(self._cluster, group, [topic]).items()
                except KafkaException as error:  # affects one group; all other topics are trimmed
                    refused = error
                    continue
                found |= {place: at for place, at in passed if place[1] % count in numbers}
        return found, refused
