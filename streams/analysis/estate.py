"""A whole topology, compiled once for all questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from streams import routing
from streams.analysis.paths.circles import Circles
from streams.analysis.paths.network import Common, Network, State
from streams.analysis.paths.path_graph import PathGraph
from streams.routing import Address
from streams.topology import Topology
from streams.topology.compile import found_at

T = TypeVar("T")
SOON = 7 * 24 * 60 * 60.0
"""One week in seconds: findings report lifetimes and certificates that expire sooner."""


@dataclass(slots=True)
class Estate:
    """A topology at an instant (``now``, epoch seconds); each service's network is created once.

    ``soon``: an object counts as about to expire if it expires within this many seconds.
    """

    topology: Topology
    now: float
    soon: float = SOON
    _common: Common = field(init=False)
    _networks: dict[tuple[str, bool], Network] = field(default_factory=dict)
    _circles: dict[str, Circles] = field(default_factory=dict)
    _known: dict[object, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._common = Common.of(self.topology)

    @property
    def instances(self) -> Mapping[str, routing.Instance]:
        """Return the instances, compiled for :mod:`streams.routing`, by name."""
        return self._common.instances

    @property
    def leads(self) -> Mapping[tuple[str, int], str]:
        """Return the instance of a host (in lower case) and port."""
        return self._common.leads

    def path_graph(self, service: str, start: State) -> PathGraph:
        """Return the graph of all paths to a service; its cycles are computed once per service."""
        network = self.network(service)
        circles = self._circles.setdefault(service, Circles(network))
        return PathGraph(network, start, circles)

    def once(self, answer: Callable[[Estate], T]) -> T:
        """Return a function's result for this estate, cached."""
        if answer not in self._known:
            self._known[answer] = answer(self)
        known: T = self._known[answer]
        return known

    def network(
        self, service: str, *, from_initiator: bool = True, conversation: UUID | None = None
    ) -> Network:
        """Return the network for messages to a service, for one dialog or for all."""
        if conversation is not None:
            return Network(self._common, service, from_initiator, conversation, self.now)
        key = (service, from_initiator)
        found = self._networks.get(key)
        if found is None:
            found = Network(self._common, service, from_initiator, None, self.now)
            self._networks[key] = found
        return found

    def leads_to(self, instance: str, address: Address) -> str | None:
        """Return the instance at an address as seen from another instance, or ``None``."""
        if self.instances[instance].is_here(address):
            return instance
        return found_at(self.leads, address, self.instances[instance].address)
