"""A whole topology, compiled once for every question that is asked of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams import routing
from streams.analysis.network import Network
from streams.topology import Topology, directory, routing_instances

SOON = 7 * 24 * 60 * 60.0
"""What ends within a week is told beforehand, unless somebody asks otherwise (seconds)."""


@dataclass(slots=True)
class Estate:
    """A topology at an instant (``now``, epoch seconds); networks are made once per service.

    ``soon`` (seconds): how long before its end something is about to expire.
    """

    topology: Topology
    now: float
    soon: float = SOON
    instances: dict[str, routing.Instance] = field(init=False)
    leads: dict[tuple[str, int], str] = field(init=False)
    _networks: dict[tuple[str, bool], Network] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.instances = routing_instances(self.topology)
        self.leads = dict(directory(self.topology))

    def network(self, service: str, *, from_initiator: bool = True) -> Network:
        """Return the network in which messages to a service travel, for every dialog at once."""
        key = (service, from_initiator)
        found = self._networks.get(key)
        if found is None:
            found = self._networks[key] = Network(
                self.topology, service, from_initiator, None, self.now,
                _instances=self.instances, _leads=self.leads,
            )  # fmt: skip
        return found
