"""The owner of a database's topics: its instance, or its mirrored pair.

A mirrored database has its own ``cmd``, ``out``, ``in``, ``ack`` and ``dialog``, named after the
pair. Only the principal's worker consumes them, so a failover changes only the consumer and does
not copy data. A pair's worker sees only the databases of the pair; the instance's other worker sees
all remaining databases.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from streams.node.catalog_view import CatalogView
from streams.protocol import Parties
from streams.routing import Instance, locate
from streams.topology import Role


def receiving_database(
    here: Instance, parties: Parties, conversation: uuid.UUID, *, inside: bool
) -> str | None:
    """Return the database that receives a frame whose dialog has no endpoint (R7.2, U-13)."""
    home = here.with_broker_id(parties.from_broker) if inside else None
    name = None if home is None else home.name
    return locate(here, parties.to_service, parties.to_broker, name, conversation)


def owner_of(
    catalog: CatalogView, instance: str, parties: Parties, conversation: uuid.UUID, *, inside: bool
) -> str | None:
    """Return the mirrored database whose topics receive a delivered frame, if any."""
    name = receiving_database(catalog.instances[instance], parties, conversation, inside=inside)
    return name if name is not None and (instance, name) in catalog.mirrors else None


def home_of(catalog: CatalogView, instance: str, database: str | None) -> str:
    """Return the instance or pair after which a database's topics are named."""
    mirror = catalog.mirrors.get((instance, database or ""))
    return instance if mirror is None else mirror.pair


def pairs_at(catalog: CatalogView, instance: str) -> tuple[str, ...]:
    """Return the pairs of an instance, regardless of its role."""
    return tuple(sorted({m.pair for (at, _), m in catalog.mirrors.items() if at == instance}))


def held_epoch(catalog: CatalogView, instance: str, pair: str) -> int | None:
    """Return the epoch in which an instance is a pair's principal, or ``None`` if it is not."""
    ours = [m for (at, _), m in catalog.mirrors.items() if at == instance and m.pair == pair]
    held = [m.epoch for m in ours if m.role is Role.PRINCIPAL]
    return max(held, default=None)


def narrowed(catalog: CatalogView, instance: str, pair: str | None) -> CatalogView:
    """Return the catalog with only the instance's databases of a pair, or (``None``) of no pair."""
    here = catalog.instances[instance]

    def pair_of(database: str) -> str | None:
        mirror = catalog.mirrors.get((instance, database))
        return None if mirror is None else mirror.pair

    mine = {name: found for name, found in here.databases.items() if pair_of(name) == pair}
    if len(mine) == len(here.databases):
        return catalog
    return replace(
        catalog, instances={**catalog.instances, instance: replace(here, databases=mine)}
    )
