"""Whose topics the dialogs of a database live in: the instance's, or those of its mirrored pair.

A mirrored database has ``cmd``, ``out``, ``in``, ``ack`` and ``dialog`` of its own, named after the
pair. Only the principal's worker consumes them, so a failover changes who does and copies nothing.
Such a worker sees its one database alone; the instance's other worker sees all the rest.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from streams.node.world import World
from streams.protocol import Parties
from streams.routing import Instance, order_databases


def locate(
    here: Instance, parties: Parties, conversation: uuid.UUID, *, inside: bool
) -> str | None:
    """Return the database that takes a dialog's frame where no endpoint is known (R7.2, U-13)."""
    if parties.to_broker is not None:
        known = here.with_broker_id(parties.to_broker)
        return known.name if known is not None and known.enabled else None
    hosting = here.hosting(parties.to_service)
    home = here.with_broker_id(parties.from_broker) if inside else None
    if home is not None and home.name in hosting:
        return home.name
    ordered = order_databases(hosting, conversation)
    return ordered[0] if ordered else None


def owner_of(
    world: World, instance: str, parties: Parties, conversation: uuid.UUID, *, inside: bool
) -> str | None:
    """Return the mirrored database whose topics a delivered frame belongs into, if it is one."""
    name = locate(world.instances[instance], parties, conversation, inside=inside)
    return name if name is not None and (instance, name) in world.mirrors else None


def narrowed(world: World, instance: str, database: str | None) -> World:
    """Return what the worker of one mirrored database sees, or (``None``) that of all others."""
    here = world.instances[instance]
    mine = {
        name: found
        for name, found in here.databases.items()
        if (name == database if database is not None else (instance, name) not in world.mirrors)
    }
    if len(mine) == len(here.databases):
        return world
    return replace(world, instances={**world.instances, instance: replace(here, databases=mine)})
