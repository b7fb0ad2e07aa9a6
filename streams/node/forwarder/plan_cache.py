"""The plans of a forwarder, made for the first record of a route and cached.

The cache key is (source, raw bytes of ``sb-route``), so only new routes are decoded. The source is
the origin, or the other cluster that wrote the record. Another cluster's records must name an
allowed sender, which is checked once per plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.node.catalog_view import CatalogView
from streams.node.forwarder.outcome import Record
from streams.node.forwarder.ports import EnvelopeCodec
from streams.protocol import Parties
from streams.routing import Address, Decision, Origin, Plan, Query, plan

CACHE_BYTES = 64 << 20
"""Maximum size in bytes of a forwarder's plans, enough for thousands of pairs of services."""
PLAN_BYTES = 3_072
"""The overhead of a plan in bytes, besides the bytes of its route, which count twice."""
DECISION_BYTES = 512
"""Bytes per additional prepared decision of a plan; a balanced service has one per broker id."""
_Key = tuple[Origin | str, bytes]
"""A record's source (:attr:`Record.source`), and its ``sb-route``."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A decision with its instance (``None`` if no instance has the address) and its header.

    ``returning``: the copy is sent towards the initiator.
    """

    decision: Decision
    route: bytes
    targets: tuple[str | None, ...]
    returning: bool


@dataclass(slots=True)
class CachedPlan:
    """A plan with its prepared decisions; ``only`` is set if all dialogs have the same decision.

    The plan is valid from ``since`` until just before ``until``. If a clock is set back, an expired
    route exists again, as it would for a restarted forwarder (5.1-4). ``forged``: another cluster
    wrote the record with a sender that is not allowed.
    """

    since: int
    until: float
    plan: Plan
    parties: Parties
    forged: bool = False
    only: Prepared | None = None
    prepared: dict[Decision, Prepared] = field(default_factory=dict)


class PlanCache:
    """The plans of one instance; ``plans`` is public for fast lookups."""

    def __init__(self, instance: str, codec: EnvelopeCodec) -> None:
        self._instance, self._codec = instance, codec
        self.plans: dict[_Key, CachedPlan] = {}
        self._size = 0

    def switch(self, catalog: CatalogView) -> None:
        """Switch to a new version of the catalog, and discard all plans."""
        self._catalog, self._here = catalog, catalog.instances[self._instance]
        self._writers = catalog.ingress.get(self._instance, {})
        self.plans.clear()
        self._size = 0

    def instance_at(self, address: Address) -> str | None:
        """Return the instance at an address, as seen from here; ``None`` if there is none."""
        return self._instance if self._here.is_here(address) else self._catalog.instance_at(address)

    def make(self, record: Record, now: int) -> CachedPlan:
        """Make the plan for a record, and cache it."""
        parties = self._codec.parties(record.route)
        home = None
        if record.origin is Origin.INSIDE:
            database = self._here.with_broker_id(parties.from_broker)
            home = database.name if database else None
        query = Query(
            parties.to_service,
            record.origin,
            parties.to_broker,
            home,
            parties.from_initiator,
        )
        made = plan(self._here, query, now / 1000)
        is_forged = self._is_forged(record, parties)
        cached = CachedPlan(now, made.valid_until * 1000, made, parties, is_forged)
        if len(made.decisions) == 1 and isinstance(only := made.decisions[0], Decision):
            cached.only = self._prepare(cached, only, record.route)
        self._remember((record.source, record.route), cached)
        return cached

    def _is_forged(self, record: Record, parties: Parties) -> bool:
        """Return whether another cluster wrote a record with a sender that is not allowed."""
        if record.writer is None:
            return False
        senders = self._writers.get(record.writer)
        return senders is None or not senders.allow(parties)

    def _remember(self, key: _Key, cached: CachedPlan) -> None:
        """Cache a plan, and evict the oldest if the cache is too large."""
        former = self.plans.pop(key, None)
        if former is not None:
            self._size -= _size(key, former)
        self._size += _size(key, cached)
        self.plans[key] = cached
        while self._size > CACHE_BYTES:
            oldest = next(iter(self.plans))
            self._size -= _size(oldest, self.plans.pop(oldest))

    def prepared_for(self, cached: CachedPlan, record: Record) -> Prepared:
        """Return the decision for a record's conversation, if the decisions of dialogs differ."""
        decision = cached.plan.decision(self._codec.conversation(record.key))
        return self._prepare(cached, decision, record.route)

    def _prepare(self, cached: CachedPlan, decision: Decision, raw: bytes) -> Prepared:
        prepared = cached.prepared.get(decision)
        if prepared is None:
            if decision.broker is not None and cached.parties.to_broker is None:
                raw = self._codec.encode_parties(
                    cached.parties._replace(to_broker=decision.broker)  # U-07
                )
            targets = tuple(self.instance_at(address) for address in decision.addresses)
            prepared = cached.prepared[decision] = Prepared(
                decision, raw, targets, returning=not cached.parties.from_initiator
            )
        return prepared


def _size(key: _Key, cached: CachedPlan) -> int:
    return PLAN_BYTES + 2 * len(key[1]) + DECISION_BYTES * (cached.plan.count - 1)
