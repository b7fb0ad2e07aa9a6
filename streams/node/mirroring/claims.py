"""What partners claim in their heartbeats, and what that answers (reference 2.4).

A heartbeat has a claim for each mirrored database of its instance, by what its writer knows of the
catalog. Who asks both partners of a route looks at what each has claimed last.
"""

from __future__ import annotations

from collections.abc import Sequence

from streams.node.catalog_view import CatalogView
from streams.node.mirroring.mirror import Pair
from streams.protocol import Claim
from streams.routing import Database, Instance, broker_key
from streams.topology import Mirror, Role


def claims_of(catalog: CatalogView | None, instance: str) -> tuple[Claim, ...]:
    """Return what an instance claims, by a version of the catalog; nothing while there is none."""
    here = catalog.instances.get(instance) if catalog is not None else None
    if catalog is None or here is None:
        return ()
    mirrors = (
        (found.broker_id, catalog.mirrors.get((instance, name)))
        for name, found in here.databases.items()
    )
    return tuple(
        Claim(broker, mirror.role is Role.PRINCIPAL, mirror.epoch)
        for broker, mirror in mirrors
        if mirror is not None
    )


def answer_in(
    claims: Sequence[Claim], catalog: CatalogView, instance: str, pair: Pair
) -> tuple[Role, int] | None:
    """Return the role and epoch that a partner's claims answer a question with, if they do.

    Where the catalog has the mirrored database, a claim that it does not bear out answers nothing,
    so that nobody who may write heartbeats can take the role from a partner: not one above the
    catalog's epoch, which may not have been read yet, and not the other role in that epoch.

    What no claim is about may be a database that is not mirrored, if the catalog has its instance:
    that one is its own principal. A route without broker id (C-06) needs the catalog, too.
    """
    here = catalog.instances.get(instance)
    found = None if here is None else _asked_for(here, pair.service, pair.broker)
    broker = pair.broker if found is None else found.broker_id
    claim = next((c for c in claims if broker_key(c.broker) == broker_key(broker or "")), None)
    if claim is not None:
        mirror = None if found is None else catalog.mirrors.get((instance, found.name))
        if mirror is not None and not _is_borne_out(claim, mirror):
            return None
        return (Role.PRINCIPAL if claim.principal else Role.MIRROR), claim.epoch
    if found is None:
        return Role.MIRROR, 0
    plain = (instance, found.name) not in catalog.mirrors
    return (Role.PRINCIPAL, 0) if plain else None


def _is_borne_out(claim: Claim, mirror: Mirror) -> bool:
    if claim.epoch != mirror.epoch:
        return claim.epoch < mirror.epoch
    return claim.principal is (mirror.role is Role.PRINCIPAL)


def _asked_for(here: Instance, service: str, broker: str | None) -> Database | None:
    """Return the database that a question is about: by its broker id, else by its service."""
    if broker is not None:
        return here.with_broker_id(broker)
    hosts = [d for d in here.databases.values() if service in d.services]
    return min(hosts, key=lambda d: (not d.enabled, d.name), default=None)
