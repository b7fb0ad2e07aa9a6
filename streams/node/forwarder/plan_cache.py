"""The plans of a forwarder; a plan is made for a route's first record, and cached.

The cache key is (source, raw bytes of ``sb-route``), so only new routes are decoded. The source is
the origin, or the other cluster that wrote the record. Records of another cluster must name an
allowed sender, and no name may exceed its maximum length (1.2). Both rules are checked once per
plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.errors import Number
from streams.node.catalog_view import CatalogView
from streams.node.forwarder.outcome import Record
from streams.node.forwarder.ports import EnvelopeCodec
from streams.protocol import Parties, name_too_long
from streams.routing import Address, Decision, Origin, Plan, Query, plan

CACHE_BYTES = 64 << 20
"""Maximum size in bytes of a forwarder's plans, enough for thousands of pairs of services."""
PLAN_BYTES = 3_072
"""The overhead of a plan in bytes, in addition to the bytes of its route, which count twice."""
DECISION_BYTES = 512
"""Bytes per additional decision of a plan; a balanced service has one per broker id."""
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
    route exists again, as it would after a restart of the forwarder (5.1-4). ``refused`` is the
    error number if records with these names are not forwarded; ``only`` is then not set. ``size``
    is the plan's size in bytes as counted by the cache.
    """

    since: int
    until: float
    plan: Plan
    parties: Parties
    refused: Number | None = None
    only: Prepared | None = None
    prepared: dict[Decision, Prepared] = field(default_factory=dict)
    size: int = 0


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
        if self._here.is_here(address):
            return self._instance
        return self._catalog.instance_at(address, self._here.address)

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
        refused = self._refusal(record, parties)
        cached = CachedPlan(now, made.valid_until * 1000, made, parties, refused)
        decision = made.decisions[0]
        if refused is None and len(made.decisions) == 1 and isinstance(decision, Decision):
            cached.only = self._prepare(cached, decision, record.route)
        self._remember((record.source, record.route), cached)
        return cached

    def _refusal(self, record: Record, parties: Parties) -> Number | None:
        """Return the error number if another cluster forged the sender, or a name is too long."""
        if record.writer is not None:
            senders = self._writers.get(record.writer)
            if senders is None or not senders.allow(parties):
                return Number.SENDER_NOT_PERMITTED
        return name_too_long(parties)

    def _remember(self, key: _Key, cached: CachedPlan) -> None:
        """Cache a plan, and evict the oldest if the cache is too large."""
        former = self.plans.pop(key, None)
        if former is not None:
            self._size -= former.size
        cached.size = _size(key, cached)
        self._size += cached.size
        self.plans[key] = cached
        self._evict()

    def _evict(self) -> None:
        """Evict the oldest plans if the cache is too large."""
        while self._size > CACHE_BYTES:
            self._size -= self.plans.pop(next(iter(self.plans))).size

    def prepared_for(self, cached: CachedPlan, record: Record) -> Prepared:
        """Return the decision for a record's conversation, for a plan without ``only``.

        The size of a new decision is counted if its plan is cached.
        """
        decision = cached.plan.decision(self._codec.conversation(record.key))
        prepared = cached.prepared.get(decision)
        if prepared is None:
            prepared = self._prepare(cached, decision, record.route)
            if self.plans.get((record.source, record.route)) is cached:
                size = DECISION_BYTES + len(prepared.route)
                cached.size += size
                self._size += size
                self._evict()
        return prepared

    def _prepare(self, cached: CachedPlan, decision: Decision, raw: bytes) -> Prepared:
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
    """Return the size of a plan without the prepared decisions of dialogs."""
    size = PLAN_BYTES + 2 * len(key[1]) + DECISION_BYTES * (cached.plan.count - 1)
    if cached.only is not None and cached.only.route is not key[1]:
        size += len(cached.only.route)
    return size
