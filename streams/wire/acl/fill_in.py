"""Fill in the names of the resources at a place in a role's rows of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from streams.wire.acl.grant import On, Operation, Resource, RoleGrant, RoleKind
from streams.wire.acl.grants import ROLES
from streams.wire.topics import Topics, escape


@dataclass(frozen=True, slots=True)
class Granted:
    """Operations on one resource, or (``prefixed``) on all resources with a name prefix."""

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
class Place:
    """The kind and the place of a role. ``name`` is ``None`` if the role is for the whole cluster.

    ``own``: the prefix of the role's groups and transactional ids. ``ingress``: the topics to which
    other clusters or the role itself write at this place. ``extra`` rows are added to the rows of
    the kind; ``of``, if set, replaces the definition of the kind.
    """

    kind: str
    name: str | None = None
    homes: tuple[str, ...] = ()
    instance: str | None = None
    next: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    own: str = ""
    ingress: tuple[str, ...] = ()
    extra: tuple[RoleGrant, ...] = ()
    of: RoleKind | None = None

    @property
    def role(self) -> str:
        """Return the role's name."""
        return self.kind if self.name is None else f"{self.kind}.{self.name}"


def role_at(topics: Topics, place: Place) -> Role:
    """Return the role of a place, with its grants."""
    of = place.of or ROLES[place.kind]
    found: dict[tuple[Resource, str, bool], Granted] = {}
    for row in (*of.rows, *place.extra):
        for named, begins in _resources(topics, row, place):
            resource, prefixed = (named, begins) if named else ("*", False)
            key = row.resource, resource, prefixed
            before = found.get(key)
            operations = (*before.operations, *row.operations) if before else row.operations
            why = f"{before.why}; {row.why}" if before else row.why
            found[key] = Granted(
                row.resource, resource, tuple(dict.fromkeys(operations)), why, prefixed
            )
    return Role(place.role, place.kind, of.says, tuple(found.values()))


def _resources(topics: Topics, row: RoleGrant, place: Place) -> Iterator[tuple[str, bool]]:
    """Yield the names of a row's resources at a place, and whether each name is only a prefix."""
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
    """Yield a name, and the prefix of all names that continue with a dot."""
    yield name, False
    yield f"{name}.", True


def _of_home(row: RoleGrant, begins: str, home: str, place: Place) -> Iterator[tuple[str, bool]]:
    if row.resource is Resource.TRANSACTIONAL_ID:  # one for each slot
        yield f"{begins}{escape(home)}.", True
        return
    yield f"{begins}{home}", False
    if home != place.instance and row.name == "forwarder" and Operation.READ in row.operations:
        yield f"{begins}{home}.", True  # one for each epoch of the pair


def _topics(topics: Topics, row: RoleGrant, place: Place) -> Iterator[tuple[str, bool]]:
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


def _queue_topics(topics: Topics, place: Place) -> Iterator[tuple[str, bool]]:
    begins = [f"{topics.name('queue', home)}." for home in place.homes]
    yield from ((each, True) for each in begins)
    hashed = (queue for queue in place.queues if not queue.startswith(tuple(begins)))
    yield from ((queue, False) for queue in hashed)
