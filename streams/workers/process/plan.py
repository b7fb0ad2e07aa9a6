"""The workers of a process: their instances and slots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams.kafka import CACHE_BYTES
from streams.workers.endpoint import Pace
from streams.workers.endpoint.standby import own_name
from streams.workers.slot import Slot

ROLES = ("forwarder", "endpoint")


@dataclass(frozen=True, slots=True)
class Plan:
    """The workers of a process, their instances, and settings of its endpoint workers.

    ``slot``: the process's name across restarts, if any; with a slot, the partitions wait until the
    process has restarted. ``watched``: Kafka's clients report statistics, for metrics. ``standby``:
    an endpoint worker starts when its slot has no owner. ``keep``: retention of processed records
    in seconds, or ``None`` to keep them forever.
    """

    roles: tuple[str, ...]
    instances: tuple[str, ...]
    slot: str = ""
    cache_bytes: int = CACHE_BYTES
    pace: Pace = Pace.LATENCY
    watched: bool = False
    standby: bool = False
    keep: float | None = None

    @property
    def forwards(self) -> bool:
        """Return whether the process runs forwarders."""
        return "forwarder" in self.roles

    @property
    def has_endpoints(self) -> bool:
        """Return whether the process runs endpoint workers."""
        return "endpoint" in self.roles

    @property
    def forwarder_slot(self) -> str:
        """Return the forwarders' slot; empty with a standby, because both processes forward."""
        return "" if self.standby else self.slot

    def heartbeat_names(self) -> tuple[list[str], list[str]]:
        """Return the names under which heartbeats are sent: those of forwarders and of standbys."""
        standbys = [own_name(n, self.slot) for n in self.instances if self.standby]
        return list(self.instances if self.forwards else ()), standbys

    def slots(self) -> Iterator[Slot]:
        """Yield the slots that must be free when the process starts."""
        for name in self.instances:
            if self.forwards and self.forwarder_slot:
                yield Slot(name, "forwarder", self.forwarder_slot)
            if self.has_endpoints and not self.standby:
                yield Slot(name, "endpoint", self.slot)
