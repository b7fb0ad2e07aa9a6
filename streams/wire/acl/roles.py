"""The roles of a topology with their grants: :mod:`streams.wire.acl.grants` applied to names.

A resource is given by its name, or by a prefix (``prefixed``): an instance's endpoint worker may
write any queue of that instance, including later ones. Such a prefix ends in a dot, which escaped
parts of names never contain: ``Order`` must not cover ``OrderAudit``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from streams.errors import InputError
from streams.topology import (
    DEFAULT_SERVICES,
    Agent,
    Database,
    Instance,
    ShippedService,
    Topology,
    home_of,
    next_instances,
    pairs_of,
    queue_of,
    queues_of,
)
from streams.wire.acl.grant import On, Operation, Resource, RoleGrant, RoleKind
from streams.wire.acl.grants import EXTRA, FOR_ONE, ROLES
from streams.wire.topics import Topics, escape

_OWN = ("forwarder", "endpoint", "outbox", "replay")
"""Prefixes of the system's own consumer groups, after the topic prefix."""
_ONE_EACH = ("apply", "publish", "outbox", "monitor", "verify", "observer", "trace", "replay")


@dataclass(frozen=True, slots=True)
class Granted:
    """Operations on one resource, or on all with this name prefix (``prefixed``)."""

    resource: Resource
    name: str
    operations: tuple[Operation, ...]
    why: str
    prefixed: bool = False


@dataclass(frozen=True, slots=True)
class Role:
    """A user with exactly these rights; ``name`` is without ``User:``."""

    name: str
    kind: str
    says: str
    grants: tuple[Granted, ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a role works. ``own``: prefix of its groups and transactional ids.

    ``ingress``: the topics by which other clusters write there, or by which it writes itself.
    """

    name: str
    homes: tuple[str, ...] = ()
    instance: str | None = None
    next: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    own: str = ""
    ingress: tuple[str, ...] = ()


def roles_of(topology: Topology, topics: Topics) -> Iterator[Role]:
    """Yield the roles of a topology, or of one cluster's share of it."""
    for instance in topology.instances.values():
        yield from _of_instance(topology, topics, instance)
    for home, database in _databases(topology):
        for service in database.services:
            yield _application(topics, home, database, service)
    for agent in topology.agents.values():
        yield from _agents(topology, topics, agent)
    groups = _reading_groups((d for _, d in _databases(topology)), topics)
    for kind in _ONE_EACH:
        yield _role(topics, kind, _Place(kind, groups=groups))
    yield from _foreign(topology, topics)


def _of_instance(topology: Topology, topics: Topics, instance: Instance) -> Iterator[Role]:
    pairs = [p for p in pairs_of(topology).values() if instance in p.partners]
    homes = (instance.name, *(pair.name for pair in pairs))
    databases = tuple(instance.databases.values())
    place = _Place(
        escape(instance.name),
        homes,
        instance.name,
        tuple(n for n in next_instances(topology, instance) if n in topology.instances),
        tuple(_queues(topics, instance.name, databases)),
        _reading_groups(databases, topics),
        ingress=tuple(
            topics.ingress(each.gateway, each.cluster)
            for each in topology.ingress
            if each.gateway == instance.name
        ),
    )
    for kind in ("forwarder", "endpoint"):
        yield _role(topics, kind, place)
    for kind, of in FOR_ONE.items():
        yield _role(topics, kind, place, of=of)


def _databases(topology: Topology) -> Iterator[tuple[str, Database]]:
    """Yield every database with its home; of a mirrored one the definition of one partner."""
    found: dict[tuple[str, str], Database] = {}
    for instance in topology.instances.values():
        for database in instance.databases.values():
            found.setdefault((home_of(instance.name, database), database.name), database)
    for (home, _), database in found.items():
        yield home, database


def _queues(topics: Topics, instance: str, databases: Iterable[Database]) -> Iterator[str]:
    for database in databases:
        for queue in queues_of(database):
            yield topics.queue(home_of(instance, database), database.name, queue.name)


def _reading_groups(databases: Iterable[Database], topics: Topics) -> tuple[str, ...]:
    """Return the groups that read queues; raise InputError for a reserved one."""
    own = tuple(f"{topics.prefix}{kind}." for kind in _OWN)
    groups: dict[str, None] = {}
    for queue in chain.from_iterable(map(queues_of, databases)):
        group = queue.reading_group
        if group is None:
            continue
        if group.startswith(own):
            raise InputError(
                f"Queue {queue.name}: the group {group} is one of Hopline's own, and its positions "
                "would be an application's to change.",
                file=queue.source.file,
                line=queue.source.line,
                column=queue.source.column,
                remedy=f"Give the queue a group that does not begin with {topics.prefix}.",
            )
        groups[group] = None
    return tuple(groups)


def _application(topics: Topics, home: str, database: Database, service: str) -> Role:
    queue = queue_of(database, service)
    assert queue is not None, "the service is the database's"
    name = ".".join(map(escape, (home, database.name, service)))
    place = _Place(
        name,
        (home,),
        queues=(topics.queue(home, database.name, queue.name),),
        groups=() if queue.reading_group is None else (queue.reading_group,),
        own=f"application.{name}",
    )
    return _role(topics, "application", place)


def _agents(topology: Topology, topics: Topics, agent: Agent) -> Iterator[Role]:
    """Yield an agent's roles; a custom agent also is the application of its services."""
    if agent.kind is None or agent.service is None:
        yield _role(topics, "own-agent", _Place(escape(agent.name)))
        return
    for home, database in _databases(topology):
        queue = queue_of(database, agent.service)
        if queue is None:
            continue
        place = _Place(
            ".".join(map(escape, (agent.name, home, database.name))),
            (home,),
            queues=(topics.queue(home, database.name, queue.name),),
            own=group_of(agent, topics, home, database.name),
        )
        yield _role(topics, "agent", place, _extra(agent))


def _extra(agent: Agent) -> tuple[RoleGrant, ...]:
    """Return what the agent's kind needs; one that only redirects keeps no table."""
    keeps_nothing = agent.setting("redirect") is not None
    return () if agent.kind is None or keeps_nothing else EXTRA[agent.kind.value]


def _foreign(topology: Topology, topics: Topics) -> Iterator[Role]:
    entrances: dict[str, list[str]] = {}
    for each in topology.ingress:
        topic = topics.ingress(each.gateway, each.cluster)
        entrances.setdefault(each.cluster, []).append(topic)
    for other, names in entrances.items():
        yield _role(topics, "foreign", _Place(escape(other), ingress=tuple(names)))


def group_of(agent: Agent, topics: Topics, instance: str, database: str) -> str:
    """Return the consumer group of an agent that comes with Hopline."""
    if agent.kind is ShippedService.CONFIGURATION_NOTICE:
        return topics.name("configuration", instance, database)
    named = agent.service or ""
    is_default = named == DEFAULT_SERVICES[ShippedService.DATA_DEPENDENT_ROUTING]
    return topics.name("routing", instance, database, *(() if is_default else (named,)))


# --- filling in ----------------------------------------------------------------------------------


def _role(
    topics: Topics,
    kind: str,
    place: _Place,
    extra: tuple[RoleGrant, ...] = (),
    of: RoleKind | None = None,
) -> Role:
    of = of or ROLES[kind]
    name = kind if place.name == kind else f"{kind}.{place.name}"
    found: dict[tuple[Resource, str, bool], Granted] = {}
    for row in (*of.rows, *extra):
        for named, begins in _resources(topics, row, place):
            resource, prefixed = (named, begins) if named else ("*", False)
            key = row.resource, resource, prefixed
            before = found.get(key)
            operations = (*before.operations, *row.operations) if before else row.operations
            why = f"{before.why}; {row.why}" if before else row.why
            found[key] = Granted(
                row.resource, resource, tuple(dict.fromkeys(operations)), why, prefixed
            )
    return Role(name, kind, of.says, tuple(found.values()))


def _resources(topics: Topics, row: RoleGrant, place: _Place) -> Iterator[tuple[str, bool]]:
    """Yield the names that a row applies to at a place, and whether they are prefixes."""
    if row.resource is Resource.TOPIC:
        yield from _topics(topics, row, place)
        return
    if row.resource is Resource.CLUSTER:
        yield row.name, False
        return
    prefix = topics.prefix
    match row.on:
        case On.CLUSTER:
            yield f"{prefix}{row.name}", False
        case On.EVERY:
            yield f"{prefix}{row.name}", True
        case On.OWN:
            if row.resource is Resource.GROUP:
                yield place.own, False
            else:
                yield from _itself_and_below(f"{prefix}{row.name}{place.own}")
        case On.PLACE:
            yield from ((group, False) for group in place.groups)
            if not place.groups and place.own:
                yield from _itself_and_below(place.own)
        case _:
            for home in place.homes:
                yield from _of_home(row, f"{prefix}{row.name}.", home, place)


def _itself_and_below(name: str) -> Iterator[tuple[str, bool]]:
    """Yield a name, and the prefix of all names below it."""
    yield name, False
    yield f"{name}.", True


def _of_home(row: RoleGrant, begins: str, home: str, place: _Place) -> Iterator[tuple[str, bool]]:
    if row.resource is Resource.TRANSACTIONAL_ID:  # one for each slot
        yield f"{begins}{escape(home)}.", True
        return
    yield f"{begins}{home}", False
    if home != place.instance and row.name == "forwarder" and Operation.READ in row.operations:
        yield f"{begins}{home}.", True  # one for each epoch of the pair


def _topics(topics: Topics, row: RoleGrant, place: _Place) -> Iterator[tuple[str, bool]]:
    match row.on:
        case On.CLUSTER:
            yield topics.name(row.name), False
        case On.EVERY:
            yield f"{topics.prefix}{row.name}." if row.name else topics.prefix, True
        case On.HOME | On.NEXT if row.name == "ingress":
            yield from ((name, False) for name in place.ingress)
        case On.NEXT:
            yield from ((topics.name(row.name, home), False) for home in place.next)
        case On.PLACE:
            yield from ((queue, False) for queue in place.queues)
        case On.OWN:
            yield f"{place.own}{row.name}", False
        case On.HOME if row.name == "queue":
            yield from _queue_topics(topics, place)
        case On.HOME:
            homes = place.homes if row.name != "txq" else (place.instance or "",)
            yield from ((topics.name(row.name, home), False) for home in homes)


def _queue_topics(topics: Topics, place: _Place) -> Iterator[tuple[str, bool]]:
    begins = [f"{topics.name('queue', home)}." for home in place.homes]
    yield from ((each, True) for each in begins)
    hashed = (queue for queue in place.queues if not queue.startswith(tuple(begins)))
    yield from ((queue, False) for queue in hashed)
