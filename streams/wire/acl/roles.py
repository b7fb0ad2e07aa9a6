"""The roles of a topology with their grants: :mod:`streams.wire.acl.grants` applied to names.

A resource is given by its name, or by a prefix (``prefixed``): an instance's endpoint worker may
write any queue of that instance, including later ones. Such a prefix ends in a dot, which escaped
parts of names never contain: ``Order`` must not cover ``OrderAudit``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from streams.errors import InputError, UsageError
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
from streams.wire.acl.fill_in import Place, Role, role_at
from streams.wire.acl.grant import RoleGrant
from streams.wire.acl.grants import EXTRA, FOR_ONE
from streams.wire.topics import Topics, escape

_OWN = ("forwarder", "endpoint", "outbox", "replay")
"""Prefixes of the system's own consumer groups, after the topic prefix."""
_ONE_EACH = ("apply", "publish", "outbox", "monitor", "verify", "observer", "trace", "replay")


def roles_of(topology: Topology, topics: Topics) -> Iterator[Role]:
    """Yield the roles of a topology, or of one cluster's share of it.

    A role's name is a user's name: raises UsageError if two objects lead to the same one, because
    that user would have the rights of both.
    """
    names: set[str] = set()
    for role in _all_roles(topology, topics):
        if role.name in names:
            raise UsageError(
                f"Two roles are named {role.name}, and one user would have the rights of both.",
                "Rename one of the two instances, databases, services, agents or clusters that "
                "lead to this name.",
            )
        names.add(role.name)
        yield role


def _all_roles(topology: Topology, topics: Topics) -> Iterator[Role]:
    for instance in topology.instances.values():
        yield from _of_instance(topology, topics, instance)
    for home, database in _databases(topology):
        for service in database.services:
            yield _application(topics, home, database, service)
    for agent in topology.agents.values():
        yield from _agents(topology, topics, agent)
    groups = _reading_groups((d for _, d in _databases(topology)), topics)
    for kind in _ONE_EACH:
        yield role_at(topics, kind, Place(groups=groups))
    yield from _foreign(topology, topics)


def _of_instance(topology: Topology, topics: Topics, instance: Instance) -> Iterator[Role]:
    pairs = [p for p in pairs_of(topology).values() if instance in p.partners]
    homes = (instance.name, *(pair.name for pair in pairs))
    databases = tuple(instance.databases.values())
    place = Place(
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
        yield role_at(topics, kind, place)
    for kind, of in FOR_ONE.items():
        yield role_at(topics, kind, place, of=of)


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
    place = Place(
        name,
        (home,),
        queues=(topics.queue(home, database.name, queue.name),),
        groups=() if queue.reading_group is None else (queue.reading_group,),
        own=f"application.{name}",
    )
    return role_at(topics, "application", place)


def _agents(topology: Topology, topics: Topics, agent: Agent) -> Iterator[Role]:
    """Yield an agent's roles; a custom agent also is the application of its services."""
    if agent.kind is None or agent.service is None:
        yield role_at(topics, "own-agent", Place(escape(agent.name)))
        return
    for home, database in _databases(topology):
        queue = queue_of(database, agent.service)
        if queue is None:
            continue
        place = Place(
            ".".join(map(escape, (agent.name, home, database.name))),
            (home,),
            queues=(topics.queue(home, database.name, queue.name),),
            own=group_of(agent, topics, home, database.name),
        )
        yield role_at(topics, "agent", place, _extra(agent))


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
        yield role_at(topics, "foreign", Place(escape(other), ingress=tuple(names)))


def group_of(agent: Agent, topics: Topics, instance: str, database: str) -> str:
    """Return the consumer group of an agent that comes with Hopline."""
    if agent.kind is ShippedService.CONFIGURATION_NOTICE:
        return topics.name("configuration", instance, database)
    named = agent.service or ""
    is_default = named == DEFAULT_SERVICES[ShippedService.DATA_DEPENDENT_ROUTING]
    return topics.name("routing", instance, database, *(() if is_default else (named,)))
