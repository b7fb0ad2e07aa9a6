"""The claims in the heartbeats of partners, and the answers derived from them (reference 2.4).

A heartbeat contains a claim for each mirrored database of its instance, based on its writer's
catalog. The user of a mirrored route evaluates the last claims of both partners.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streams.node.catalog_view import CatalogView
from streams.node.mirroring.mirror import Pair
from streams.protocol import Claim
from streams.routing import Database, Instance, broker_key
from streams.topology import Mirror, Role


def claims_of(catalog: CatalogView | None, instance: str) -> tuple[Claim, ...]:
    """Return an instance's claims in a version of the catalog, or no claims without a catalog."""
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


def by_broker(claims: Iterable[Claim]) -> Mapping[str, Claim]:
    """Map each broker id (:func:`broker_key`) to its first claim, for :func:`answer_in`.

    The map is needed because there may be thousands of claims and questions.
    """
    found: dict[str, Claim] = {}
    for claim in claims:
        found.setdefault(broker_key(claim.broker), claim)
    return found


def answer_in(
    claims: Mapping[str, Claim], catalog: CatalogView, instance: str, pair: Pair
) -> tuple[Role, int] | None:
    """Return a partner's role and epoch in a pair according to its claims; ``None`` if unknown.

    If the catalog contains the mirrored database, a contradicting claim is ignored, so that a
    writer of heartbeats cannot take the role from a partner. A claim contradicts the catalog if its
    epoch is above that of the catalog (whose newest version may not have been read yet), or if it
    claims the other role in the same epoch. If the catalog contains the instance of a database
    without a claim, the database may be unmirrored, and is then its own principal. A route without
    a broker id (C-06) also needs the catalog.
    """
    here = catalog.instances.get(instance)
    found = None if here is None else _asked_for(here, pair.service, pair.broker)
    broker = pair.broker if found is None else found.broker_id
    claim = claims.get(broker_key(broker or ""))
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
    """Return the database in question, found by its broker id, or by its service without an id."""
    if broker is not None:
        return here.with_broker_id(broker)
    hosts = [d for d in here.databases.values() if service in d.services]
    return min(hosts, key=lambda d: (not d.enabled, d.name), default=None)
