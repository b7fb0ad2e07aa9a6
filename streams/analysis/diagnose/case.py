"""A stuck message, with all facts in the snapshot about its path; the causes examine them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from streams import routing
from streams.analysis.diagnose.status import Status
from streams.analysis.estate import Estate
from streams.analysis.explain_text import failure_text
from streams.analysis.known import Home, known
from streams.analysis.paths.network import Ending, State, Step
from streams.analysis.paths.path_graph import MessagePath, PathClass, PathGraph
from streams.errors import Number
from streams.routing import Explanation, Origin, Query, Verdict, broker_key
from streams.system_names import MSDB_SERVICES
from streams.topology import MSDB, Database, Instance, Role, Source
from streams.topology.snapshot import (
    ConversationEndpoint,
    LiveInstance,
    QueuedMessage,
    Snapshot,
)

_LEAVING = frozenset({Verdict.SEND, Verdict.FORWARD, Verdict.PROBE})
NOT_HERE = (
    Number.SERVICE_NOT_HERE, Number.BROKER_NOT_HERE, Number.TARGET_BROKER_NOT_HERE,
    Number.TO_SERVICE_NOT_FOUND, Number.REMOTE_SERVICE_MISSING,
)  # fmt: skip
"""Errors of a path that ends because no active database has the service or the broker id."""


@dataclass(frozen=True, slots=True)
class Target:
    """A database that a message reaches, and whether its acknowledgement returns."""

    instance: Instance
    database: Database
    back: MessagePath | None
    acknowledged: bool

    def __str__(self) -> str:
        return f"{self.instance.name}/{self.database.name}"


@dataclass
class Case:
    """A message that represents all messages with the same facts; costly results are cached.

    ``endpoint`` is the sending side of the dialog. ``old``: the message is too old to be in flight.
    """

    estate: Estate
    snapshot: Snapshot
    live: LiveInstance
    instance: Instance
    database: Database
    message: QueuedMessage
    status: Status
    endpoint: ConversationEndpoint | None
    old: bool

    @property
    def initiator(self) -> bool:
        """Return whether the initiator sent the message; true if the endpoint is unknown."""
        return self.endpoint is None or self.endpoint.initiator

    @property
    def parked(self) -> bool:
        """Return whether the message is from another instance and parked here (reference 4.6)."""
        services = self.database.services
        return self.message.to_service in services and self.message.from_service not in services

    @property
    def broker(self) -> str | None:
        """Return the destination broker id, which BEGIN DIALOG or an acknowledgement named."""
        far = None if self.endpoint is None else self.endpoint.far_broker
        return self.message.to_broker or far

    @property
    def at(self) -> str:
        """Return the ``instance/database`` of the sender."""
        return f"{self.instance.name}/{self.database.name}"

    @property
    def routes_known(self) -> bool:
        """Return whether the snapshot has the sender's routes, and services that they lead to.

        A topology lacks the services that msdb is shipped with.
        """
        at_msdb = self.database.name.casefold() == MSDB
        shipped = at_msdb and self.message.to_service in MSDB_SERVICES
        return "routes" not in self.live.missing and not shipped

    # --- What the routing core decides now -------------------------------------------------------

    @cached_property
    def explanation(self) -> Explanation:
        """Return the decision that the sender's current routes make, rule by rule."""
        query = Query(
            self.message.to_service, Origin.INSIDE, self.broker, self.database.name,
            from_initiator=self.initiator,
        )  # fmt: skip
        instance = self.estate.instances[self.instance.name]
        return routing.explain(instance, query, self.estate.now)

    @property
    def decided(self) -> str:
        """Return the decision in words."""
        decision = self.explanation.decision
        by = f" by {', '.join(decision.routes)}" if decision.routes else ""
        routes = f"the current routes of {self.at}"
        if decision.error is not None:
            verb = "drop" if decision.verdict is Verdict.DROP else "delay"
            return f"{routes} {verb} the message with {int(decision.error)}{by}"
        to = ", ".join(map(str, decision.addresses)) or "this instance"
        return f"{routes} send the message to {to}{by}"

    @property
    def leaves(self) -> bool:
        """Return whether the message is sent over the network."""
        return self.explanation.decision.verdict in _LEAVING

    @cached_property
    def graph(self) -> PathGraph:
        """Return the graph of all paths that the message can take."""
        network = self.estate.network(self.message.to_service, from_initiator=self.initiator)
        return PathGraph(network, State(self.instance.name, self.database.name, self.broker))

    @cached_property
    def failure(self) -> MessagePath | None:
        """Return a path that fails and has no fallback, or ``None``.

        Another broker id is not a fallback, because a dialog keeps its broker id. Another address
        is a fallback, because the next retry tries it.
        """
        kinds = list(self.graph.totals())
        good = [kind for kind in kinds if kind.ending.delivered]
        lost = {k.ending for k in kinds if not k.ending.delivered and not _covered(k, good)}
        return next((path for path in self.graph.listed() if path.ending in lost), None)

    @property
    def failed_step(self) -> Step | None:
        """Return the step at which the failing path ends."""
        return None if self.failure is None else self.failure.hops[-1][1]

    @property
    def failed_end(self) -> Ending | None:
        """Return the end of the failing path."""
        return None if self.failure is None else self.failure.ending

    @property
    def failed_here(self) -> bool:
        """Return whether the path ends before it leaves the sender."""
        return self.failure is not None and len(self.failure.hops) == 1

    def failed_text(self) -> str:
        """Describe where and how the path ends."""
        if self.failure is None:
            return ""
        between = [state.instance for state, _ in self.failure.hops]
        how = failure_text(self.failure.ending, self.failure.hops[-1][1])
        return f"the path {' -> '.join(between)} fails, {how}"

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """Return the databases that the message reaches, each with its return path."""
        return tuple(self._targets())

    def _targets(self) -> Iterator[Target]:
        name = self.message.from_service
        for ending in sorted(self.graph.endings(), key=lambda end: end.at):
            home = self._home_at(ending)
            if home is None:
                continue
            back = None if name is None else self._back(ending, name)
            acknowledged = back is None or self._home(back.ending)
            yield Target(home.instance, home.database, back, acknowledged)

    def _back(self, ending: Ending, service: str) -> MessagePath | None:
        network = self.estate.network(service, from_initiator=not self.initiator)
        graph = PathGraph(network, State(ending.instance, ending.database, self.database.broker_id))
        if any(self._home(end) for end in graph.endings()):
            return next(path for path in graph.listed() if self._home(path.ending))
        return next(graph.listed(), None)

    def _home(self, ending: Ending) -> bool:
        at = (ending.instance, ending.database)
        return ending.delivered and at == (self.instance.name, self.database.name)

    @cached_property
    def switched_off(self) -> tuple[Home, ...]:
        """Return the databases that do not get the message only because their brokers are off.

        With delivery off, neither a broker id nor a service name finds a database (reference 1.5).
        """
        end = self.failed_end
        if end is None:
            return ()
        named = self.hosts_of(end.broker or self.broker or "") if end.error in NOT_HERE else ()
        off = [home for home in named if home.instance.name == end.instance and self._off(home)]
        return tuple(off) or self._reached_if_on(end)

    def _reached_if_on(self, end: Ending) -> tuple[Home, ...]:
        on = self.estate.once(_switched_on)
        if on is None:
            return ()
        network = on.network(self.message.to_service, from_initiator=self.initiator)
        endings = PathGraph(network, self.graph.start).endings()
        if end in endings:
            return ()
        return tuple(
            home
            for ending in sorted(endings, key=lambda end: end.at)
            if (home := self._home_at(ending)) is not None and self._off(home)
        )

    def _off(self, home: Home) -> bool:
        """Return whether delivery is off at the far side; on a mirror it cannot be on (28018)."""
        mirror = home.database.mirror
        replica = mirror is not None and mirror.role is Role.MIRROR
        return not home.database.enabled and not replica and str(home) != self.at

    def _home_at(self, ending: Ending) -> Home | None:
        """Return the database to which a path delivers."""
        instance = self.estate.topology.instance(ending.instance)
        if instance is None or not ending.delivered or ending.database is None:
            return None
        database = instance.database(ending.database)
        return None if database is None else Home(instance, database)

    # --- Other places that have the dialog -------------------------------------------------------

    @property
    def next_hop(self) -> Instance | None:
        """Return the next instance on the first path."""
        path = self.failure or next(self.graph.listed(), None)
        if path is None or len(path.hops) < 2:
            return None
        return self.estate.topology.instance(path.hops[1][0].instance)

    def far_endpoint(self, target: Target) -> ConversationEndpoint | None:
        """Return the other side of the dialog at a target, if present."""
        live = self.snapshot.live.get(target.instance.name)
        if live is None or self.endpoint is None:
            return None
        return next(
            (
                e
                for e in live.endpoints
                if e.conversation == self.endpoint.conversation
                and e.initiator is not self.initiator
                and e.database.casefold() == target.database.name.casefold()
            ),
            None,
        )

    def hosts_of(self, broker: str) -> tuple[Home, ...]:
        """Return the databases that have a broker id."""
        return known(self.estate).brokers.get(broker_key(broker), ())

    def closed(self, home: Home) -> str | None:
        """Return why a database cannot take part in dialogs, apart from its broker."""
        live = self.snapshot.live.get(home.instance.name)
        return None if live is None else live.closed.get(home.database.name)


def _switched_on(estate: Estate) -> Estate | None:
    """Return the estate with every broker on that is off, or ``None`` if none is off.

    An active database of the same instance with the same id is off instead, see 9772.
    """
    instances = estate.topology.instances
    if all(d.enabled for instance in instances.values() for d in instance.databases.values()):
        return None
    on = {name: _with_brokers_on(instance) for name, instance in instances.items()}
    return Estate(replace(estate.topology, instances=on), estate.now)


def _with_brokers_on(instance: Instance) -> Instance:
    off = {broker_key(d.broker_id) for d in instance.databases.values() if not d.enabled}
    databases = {
        name: replace(d, enabled=not d.enabled or broker_key(d.broker_id) not in off)
        for name, d in instance.databases.items()
    }
    return replace(instance, databases=databases)


def _covered(kind: PathClass, good: list[PathClass]) -> bool:
    return any(kind.picks <= other.picks for other in good)


def placed(text: str, source: Source) -> str:
    """Return a sentence of evidence with its place in the source."""
    return f"{text} ({source})" if source.file else text
