"""The other Kafka clusters into which a process's forwarders write, and their heartbeats.

Each cluster has its own credentials; the credentials of the local cluster are never sent to another
cluster. Workers read the ``presence`` topic of the other cluster, which also provides its clock and
its readable schemas. Forwarders write to the topic in which a neighbour receives this cluster's
frames.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

from streams.errors import HoplineError
from streams.kafka import Cluster, KafkaException, stated_cluster
from streams.node import CatalogView, KafkaClock
from streams.protocol import Claim
from streams.settings import Credentials
from streams.topology import Cluster as Stated
from streams.wire import Topics
from streams.workers.control.remote_clients import check
from streams.workers.control.remote_watch import RemoteWatch

log = logging.getLogger("hopline.control")


MOST_CLUSTERS = 50
"""Maximum number of other clusters; each has a thread of the client library for each broker."""


class RemoteClusters:
    """The clusters of a process's neighbours, each watched by its own thread.

    ``follow`` is for the thread that reads the catalog; all other methods are thread-safe.
    ``catalog`` is the last version that was followed, ``clock`` the clock of the local cluster.
    """

    def __init__(self, home: Topics, credentials: Credentials, clock: KafkaClock) -> None:
        self._home = home
        self._credentials = credentials
        self._clock = clock
        self.catalog: CatalogView | None = None
        self._watches: dict[str, RemoteWatch] = {}
        self._errors: dict[str, str] = {}

    def follow(self, catalog: CatalogView) -> None:
        """Watch exactly the clusters in which a catalog version has neighbours.

        A misconfigured cluster is reported and left out; its neighbours are then unreachable. Other
        neighbours are not affected.
        """
        wanted, errors = self._wanted(catalog)
        for name, watch in list(self._watches.items()):
            if wanted.get(name) != watch.cluster:
                self._watches.pop(name).stop()
        for name, cluster in wanted.items():
            neighbours = {n for n, stated in catalog.neighbours.items() if stated.cluster == name}
            if name in self._watches:
                self._watches[name].neighbours = neighbours
            else:
                self._watches[name] = RemoteWatch(name, cluster, neighbours, self._clock)
        self._errors, self.catalog = errors, catalog

    def _wanted(self, catalog: CatalogView) -> tuple[dict[str, Cluster], dict[str, str]]:
        wanted: dict[str, Cluster] = {}
        errors: dict[str, str] = {}
        names = sorted(
            {n.cluster for n in catalog.neighbours.values()},
            key=lambda name: (name not in self._watches, name),
        )
        if len(names) > MOST_CLUSTERS:
            errors[""] = f"{len(names)} other clusters, but only {MOST_CLUSTERS} are watched."
            log.error("%s Messages for all others wait.", errors[""])
        for name in names[:MOST_CLUSTERS]:
            stated = catalog.clusters.get(name) or Stated(name)
            try:
                cluster = stated_cluster(stated, self._home, self._credentials)
                cluster = replace(cluster, foreign=True)
                watch = self._watches.get(name)
                if watch is None or watch.cluster != cluster:
                    check(cluster)
                wanted[name] = cluster
            except HoplineError as error:
                errors[name] = f"{error.message} {error.remedy}".strip()
            except KafkaException as error:
                errors[name] = f"Cluster {name}: {error.args[0].str()}."
            except Exception as error:  # the client library raises SystemError for half a surrogate
                errors[name] = f"Cluster {name}: {error!r}."
            if name in errors:
                log.error("%s Messages for that cluster wait.", errors[name])
        return wanted, errors

    def failures(self) -> Iterator[str]:
        """Yield a sentence for each cluster that is unusable or whose watch has failed."""
        yield from self._errors.values()
        yield from (watch.failure for watch in list(self._watches.values()) if watch.failure)

    def threads(self) -> list[threading.Thread]:
        """Return the threads that watch the clusters."""
        return [watch.thread for watch in list(self._watches.values())]

    def cluster_of(self, neighbour: str) -> Cluster | None:
        """Return the cluster of a neighbour; ``None`` if it is not configured."""
        watch = self._watch(neighbour)
        return None if watch is None else watch.cluster

    def knows(self, cluster: Cluster) -> bool:
        """Return whether the newest catalog contains a neighbour in the given cluster."""
        return any(watch.cluster is cluster for watch in list(self._watches.values()))

    def beat(self, at: float, period: float = 1.0) -> None:
        """Record that the local ``presence`` has advanced at this monotonic time in seconds."""
        for watch in list(self._watches.values()):
            watch.presence.beat(at, period)

    def reachable(self, neighbour: str) -> bool:
        """Return whether a neighbour is reachable."""
        watch = self._watch(neighbour)
        return watch is not None and watch.presence.reachable(neighbour, time.monotonic())

    def claims(self, neighbour: str) -> tuple[Claim, ...] | None:
        """Return the last ownership claims of a neighbour; ``None`` if no heartbeat was read."""
        watch = self._watch(neighbour)
        return None if watch is None else watch.claims.get(neighbour)

    def ahead(self, neighbour: str) -> int:
        """Return by how many milliseconds the clock of a neighbour's cluster is ahead of ours.

        The result is 0 while one of the clocks is unknown.
        """
        watch = self._watch(neighbour)
        return 0 if watch is None else watch.clock.ahead_of(self._clock)

    def announced(self, neighbour: str) -> frozenset[bytes] | None:
        """Return the prefixes of the schemas that a neighbour's cluster can read, if known."""
        watch = self._watch(neighbour)
        return None if watch is None else watch.announced.get(neighbour)

    def admitted(self, neighbour: str) -> str | None:
        """Return this cluster's name if a neighbour reads the topic for this cluster.

        Neighbours of older versions, and neighbours whose catalog has no route from here, read only
        ``txq``.
        """
        watch, catalog = self._watch(neighbour), self.catalog
        if watch is None or catalog is None:
            return None
        return catalog.cluster if catalog.cluster in watch.admits.get(neighbour, ()) else None

    def differences(self) -> Iterator[tuple[str, float]]:
        """Yield each other cluster with the seconds by which its clock is ahead of ours."""
        for name, watch in list(self._watches.items()):
            yield name, watch.clock.ahead_of(self._clock) / 1000

    def stop(self) -> None:
        """Stop watching all clusters."""
        for watch in self._watches.values():
            watch.stop()

    def _watch(self, neighbour: str) -> RemoteWatch | None:
        found = self.catalog.neighbours.get(neighbour) if self.catalog else None
        return None if found is None else self._watches.get(found.cluster)
