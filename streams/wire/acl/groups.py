"""A queue's consumer group (``group:``) must not be the group of another role.

The queue's application may join the group that the queue names, and any member of a group can stop
the other members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from streams.errors import InputError
from streams.topology import Queue, Topology, home_of, queues_of
from streams.wire.acl.fill_in import Place
from streams.wire.acl.grant import On, Operation, Resource
from streams.wire.acl.grants import ROLES
from streams.wire.topics import Topics

_WORKERS = sorted(
    {
        row.name.removesuffix(".")
        for kind in ROLES.values()
        for row in kind.rows
        if row.resource is Resource.GROUP and Operation.READ in row.operations
        if row.on in (On.HOME, On.EVERY)
    }
)
"""Prefixes of workers' group names, without the topic prefix, for known and unknown homes."""


def refuse_groups(topology: Topology, topics: Topics, places: Sequence[Place]) -> None:
    """Raise InputError if a queue's consumer group is, or begins with, another role's group."""
    own: dict[str, list[Place]] = {}
    for place in places:
        own.setdefault(place.own, []).append(place)
    for instance in topology.instances.values():
        for database in instance.databases.values():
            home = home_of(instance.name, database)
            for queue in queues_of(database):
                topic = topics.queue(home, database.name, queue.name)
                whose = _owner(queue.reading_group or "", topic, topics, own)
                if whose:
                    raise _error(queue, whose)


def _error(queue: Queue, whose: str) -> InputError:
    return InputError(
        f"Queue {queue.name}: the group {queue.group} is {whose}, and applications that read the "
        "queue could join it and stop its other members.",
        file=queue.source.file,
        line=queue.source.line,
        column=queue.source.column,
        remedy="Give the queue a group that no worker, agent or other application uses.",
    )


def _owner(group: str, queue: str, topics: Topics, own: Mapping[str, Sequence[Place]]) -> str:
    """Return the group's role; "" if there is none, or if that role reads the queue."""
    if group.startswith(tuple(f"{topics.prefix}{kind}." for kind in _WORKERS)):
        return "one of Hopline's own"
    owners = [place for name in _names_above(group) for place in own.get(name, ())]
    if not owners or any(queue in place.queues for place in owners):
        return ""
    return f"that of the role {owners[0].role}"


def _names_above(group: str) -> Iterator[str]:
    """Yield a group name, and its prefixes that end before a dot."""
    parts = group.split(".")
    yield from (name for name in accumulate(parts, "{}.{}".format) if name)
