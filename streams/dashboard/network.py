"""The topology for pages: read in the background, so that no page waits for Kafka."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from streams.analysis import Questions, flows_of
from streams.dashboard.figures import Trouble
from streams.errors import HoplineError
from streams.kafka import Cluster, read_catalog
from streams.routing import parse_address
from streams.topology import Finding, Topology, load

log = logging.getLogger("hopline.dashboard")

Read = Callable[[], tuple[object, Topology | None]]
"""Returns a stamp that changes whenever the topology changes, and the topology, if any."""


def _now() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Known:
    """A topology, compiled for queries; derived results are available a little later.

    ``routed`` are the pairs in which one instance has a route to the other. ``begins`` is the
    number of flows in which an instance begins dialogs, minus those in which it answers.
    """

    stamp: object
    questions: Questions
    routed: frozenset[tuple[str, str]] = frozenset()
    begins: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] | None = None

    @property
    def topology(self) -> Topology:
        """Return the topology."""
        return self.questions.topology


class Network:
    """The newest topology; ``source`` is its origin, ``of_catalog``: Kafka. Thread-safe.

    ``now`` returns epoch milliseconds.
    """

    def __init__(
        self, source: str, read: Read, now: Callable[[], int] = _now, *, of_catalog: bool = False
    ) -> None:
        self.source, self._read, self._now, self.of_catalog = source, read, now, of_catalog
        self.known: Known | None = None
        self.trouble: Trouble | None = None

    def begin(self) -> None:
        """Read for the first time; raise HoplineError on failure."""
        stamp, topology = self._read()
        if topology is not None and (self.known is None or self.known.stamp != stamp):
            self.known = Known(stamp, Questions(topology, time.time()))

    def look(self) -> None:
        """Read again; keep the previous topology on failure. Never raise an exception.

        A read may take half a minute until it fails, so an outage began when the read began.
        """
        began = self.trouble.since if self.trouble else self._now()
        try:
            self.begin()
            self._derive()
        except HoplineError as error:
            self.trouble = Trouble(began, error.message)
        except Exception as error:  # log any error; the next call retries
            why = f"It could not be read ({type(error).__name__}); see the log."
            if self.trouble is None or self.trouble.message != why:
                log.exception("the topology could not be read")
            self.trouble = Trouble(began, why)
        else:
            self.trouble = None

    def _derive(self) -> None:
        if self.known is not None and self.known.findings is None:
            questions = self.known.questions
            self.known = replace(
                self.known, routed=routed_of(questions), begins=begins_of(questions)
            )
            self.known = replace(self.known, findings=questions.check().findings)

    def follow(self, stop: threading.Event, every: float) -> None:
        """Read periodically until ``stop`` is set; ``every`` is in seconds."""
        while True:
            self.look()
            if stop.wait(every):
                return


def routed_of(questions: Questions) -> frozenset[tuple[str, str]]:
    """Return the pairs of instances in which one has a route to the other."""
    found = set()
    for name, instance in questions.topology.instances.items():
        for database in (*instance.databases.values(), instance.msdb):
            for route in database.routes:
                for text in filter(None, (route.address, route.mirror)):
                    address = parse_address(text)
                    other = questions.estate.leads_to(name, address) if address else None
                    if other is not None and other != name:
                        found.add((name, other))
    return frozenset(found)


def begins_of(questions: Questions) -> dict[str, int]:
    """Return, for each instance, the flows that it begins minus the flows that lead to it."""
    flows = flows_of(questions.estate)
    asked = Counter(flow.to for flow in flows)
    senders = Counter(flow.sender.instance.name for flow in flows)
    answered = {
        name: sum(asked[service] for db in instance.databases.values() for service in db.services)
        for name, instance in questions.topology.instances.items()
    }
    return {name: senders[name] - answered[name] for name in answered}


def network_of(folder: Path | None, cluster: Cluster | None) -> Network:
    """Return the network of a folder or of a cluster's catalog; with neither, an empty network."""
    if folder is not None:
        return Network(str(folder), lambda: _of_folder(folder))
    if cluster is not None:
        source = f"the catalog of {cluster.bootstrap}"
        return Network(source, lambda: _of_catalog(cluster), of_catalog=True)
    return Network("", lambda: (None, None))


def _of_folder(folder: Path) -> tuple[object, Topology | None]:
    files = (folder, *sorted(folder.rglob("*"))) if folder.is_dir() else (folder,)
    stamp = tuple((file.name, file.stat().st_mtime_ns) for file in files if file.exists())
    return stamp, load(folder, time.time())


def _of_catalog(cluster: Cluster) -> tuple[object, Topology | None]:
    state = read_catalog(cluster)
    return state.version, state.topology
