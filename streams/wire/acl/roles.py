"""The roles of a topology with their grants: :mod:`streams.wire.acl.grants` applied to names.

A resource is identified by its name or by a prefix (``prefixed``): for example, an instance's
endpoint worker may write to all queues of that instance, including queues created later. Such a
prefix ends with a dot, which escaped parts of names never contain. So ``Order`` does not cover
``OrderAudit``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from streams.errors import UsageError
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
from streams.wire.acl.groups import refuse_groups
from streams.wire.topics import Topics, escape

_ONE_EACH = ("apply", "publish", "outbox", "monitor", "verify", "observer", "trace", "replay")


def roles_of(topology: Topology, topics: Topics) -> Iterator[Role]:
    """Yield the roles of a topology, or of one cluster's part of the topology.

    Raises the errors of :func:`refuse_conflicts`.
    """
    for place in _distinct_places(topology, topics):
        yield role_at(topics, place)


def refuse_conflicts(topology: Topology, topics: Topics) -> None:
    """Raise an error if two roles of a topology would have the same user or the same group.

    Raises UsageError if two objects result in the same role name: a role's name is its user's name,
    so that user would have the rights of both. Raises InputError if a queue's reading group belongs
    to another role.
    """
    _distinct_places(topology, topics)


def _distinct_places(topology: Topology, topics: Topics) -> tuple[Place, ...]:
    places = tuple(_places(topology, topics))
    counts = Counter(place.role for place in places)
    name, most = counts.most_common(1)[0]
    if most > 1:
        raise UsageError(
            f"{most} roles are named {name}, and one user would have the rights of all.",
            "Rename the instances, databases, services, agents or clusters that lead to this name.",
        )
    refuse_groups(topology, topics, places)
    return places


def _places(topology: Topology, topics: Topics) -> Iterator[Place]:
    for instance in topology.instances.values():
        yield from _of_instance(topology, topics, instance)
    for home, database in _databases(topology):
        for service in database.services:
            yield _application(topics, home, database, service)
    for agent in topology.agents.values():
        yield from _agents(topology, topics, agent)
    groups = _reading_groups(database for _, database in _databases(topology))
    for kind in _ONE_EACH:
        yield Place(kind, groups=groups)
    yield from _foreign(topology, topics)


def _of_instance(topology: Topology, topics: Topics, instance: Instance) -> Iterator[Place]:
    pairs = [p for p in pairs_of(topology).values() if instance in p.partners]
    homes = (instance.name, *(pair.name for pair in pairs))
    databases = tuple(instance.databases.values())
    place = Place(
        "forwarder",
        escape(instance.name),
        homes,
        instance.name,
        tuple(n for n in next_instances(topology, instance) if n in topology.instances),
        tuple(_queues(topics, instance.name, databases)),
        _reading_groups(databases),
        ingress=tuple(
            topics.ingress(each.gateway, each.cluster)
            for each in topology.ingress
            if each.gateway == instance.name
        ),
    )
    yield place
    yield replace(place, kind="endpoint")
    for kind, of in FOR_ONE.items():
        yield replace(place, kind=kind, of=of)


def _databases(topology: Topology) -> Iterator[tuple[str, Database]]:
    """Yield every database with its home; a mirrored database is yielded for one partner only."""
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


def _reading_groups(databases: Iterable[Database]) -> tuple[str, ...]:
    groups = (queue.reading_group for each in databases for queue in queues_of(each))
    return tuple(dict.fromkeys(group for group in groups if group is not None))


def _application(topics: Topics, home: str, database: Database, service: str) -> Place:
    queue = queue_of(database, service)
    assert queue is not None, "the service is the database's"
    name = ".".join(map(escape, (home, database.name, service)))
    return Place(
        "application",
        name,
        (home,),
        queues=(topics.queue(home, database.name, queue.name),),
        groups=() if queue.reading_group is None else (queue.reading_group,),
        own=f"application.{name}",
    )


def _agents(topology: Topology, topics: Topics, agent: Agent) -> Iterator[Place]:
    """Yield an agent's roles; a user-written agent is also the application of its services."""
    if agent.kind is None or agent.service is None:
        yield Place("own-agent", escape(agent.name))
        return
    for home, database in _databases(topology):
        queue = queue_of(database, agent.service)
        if queue is None:
            continue
        yield Place(
            "agent",
            ".".join(map(escape, (agent.name, home, database.name))),
            (home,),
            queues=(topics.queue(home, database.name, queue.name),),
            own=group_of(agent, topics, home, database.name),
            extra=_extra(agent),
        )


def _extra(agent: Agent) -> tuple[RoleGrant, ...]:
    """Return the grants of the agent's kind; an agent that only redirects does not need a table."""
    keeps_nothing = agent.setting("redirect") is not None
    return () if agent.kind is None or keeps_nothing else EXTRA[agent.kind.value]


def _foreign(topology: Topology, topics: Topics) -> Iterator[Place]:
    entrances: dict[str, list[str]] = {}
    for each in topology.ingress:
        topic = topics.ingress(each.gateway, each.cluster)
        entrances.setdefault(each.cluster, []).append(topic)
    for other, names in entrances.items():
        yield Place("foreign", escape(other), ingress=tuple(names))


def group_of(agent: Agent, topics: Topics, instance: str, database: str) -> str:
    """Return the consumer group of an agent that is included in Hopline."""
    if agent.kind is ShippedService.CONFIGURATION_NOTICE:
        return topics.name("configuration", instance, database)
    named = agent.service or ""
    is_default = named == DEFAULT_SERVICES[ShippedService.DATA_DEPENDENT_ROUTING]
    return topics.name("routing", instance, database, *(() if is_default else (named,)))
