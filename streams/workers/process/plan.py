"""Which workers a process runs, for which instances and in which slots."""

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
    """Which workers a process runs, for which instances, and how its endpoints work.

    ``slot``: the process's name across restarts, if it has one; its partitions wait for it then.
    ``watched``: Kafka's clients report about themselves, for metrics. ``standby``: an endpoint
    begins when nobody else works in its slot. ``keep``: for so many seconds what is no longer
    needed stays in the topics, ``None``: for ever.
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
        """Tell whether it has forwarders."""
        return "forwarder" in self.roles

    @property
    def has_endpoints(self) -> bool:
        """Tell whether it has endpoint workers."""
        return "endpoint" in self.roles

    @property
    def forwarder_slot(self) -> str:
        """Return the slot of forwarders: beside stand-bys none, where two of each work at once."""
        return "" if self.standby else self.slot

    def heartbeat_names(self) -> tuple[list[str], list[str]]:
        """Return in which names heartbeats are written: of forwarders, and of stand-bys."""
        standbys = [own_name(n, self.slot) for n in self.instances if self.standby]
        return list(self.instances if self.forwards else ()), standbys

    def slots(self) -> Iterator[Slot]:
        """Yield the slots in which nobody else may work when the process begins."""
        for name in self.instances:
            if self.forwards and self.forwarder_slot:
                yield Slot(name, "forwarder", self.forwarder_slot)
            if self.has_endpoints and not self.standby:
                yield Slot(name, "endpoint", self.slot)
