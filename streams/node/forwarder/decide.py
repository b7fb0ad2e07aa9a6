"""Decide what to do with a record: route it, decrement its hop count, and forward or drop it.

The functions are pure and have no dialog state. So the same record with the same catalog has the
same outcome, and if a forwarder fails, only copies are lost. The record's plan contains the route
(``plan_cache``); ``report_drop`` reports drops, for example because of an exhausted hop count
(11285).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

from streams.errors import Number
from streams.node.catalog_view import CatalogView
from streams.node.forwarder.lane import Lane
from streams.node.forwarder.outcome import HELD, Copy, Outcome, Place, Record
from streams.node.forwarder.plan_cache import CachedPlan, PlanCache, Prepared
from streams.node.forwarder.ports import EnvelopeCodec, HopView, Roles
from streams.node.forwarder.report_drop import report_drop
from streams.node.forwarder.turn import turn_at_gateway, turn_at_origin
from streams.node.mirroring.mirror import Pair
from streams.node.mirroring.owners import owner_of
from streams.routing import Address, Origin, Verdict, broker_key, pick_broker
from streams.topology import Transport

_ANY = uuid.UUID(int=0)


class Forwarder:
    """The routing decisions of one instance.

    ``reachable`` is the presence predicate. ``roles`` returns the principals of mirrored routes;
    without it, all principals are unknown. ``now`` is always in epoch milliseconds.
    """

    def __init__(
        self,
        instance: str,
        catalog: CatalogView,
        codec: EnvelopeCodec,
        reachable: Callable[[str], bool],
        roles: Roles | None = None,
    ) -> None:
        self.instance = instance
        self._roles = roles
        self._codec = codec
        self._reachable = reachable
        self._cache = PlanCache(instance, codec)
        self._plans = self._cache.plans
        self._visit = (-1, b"")
        self.switch(catalog)

    def switch(self, catalog: CatalogView) -> None:
        """Switch to a new version of the catalog, and discard all plans."""
        self.catalog = catalog
        self._here = catalog.instances[self.instance]
        self._mirrored = any(instance == self.instance for instance, _ in catalog.mirrors)
        self._transport = catalog.transports[self.instance]
        self._strangers = catalog.hides.get(self.instance, frozenset())
        self._cache.switch(catalog)

    def instance_at(self, address: Address) -> str | None:
        """Return the instance at an address, as seen from here; ``None`` if there is none."""
        return self._cache.instance_at(address)

    def handle(self, record: Record, now: int) -> Outcome:
        """Decide on one record; raise the codec's MalformedError if its envelope is invalid."""
        cached = self._plan(record, now)
        if cached.refused is not None:
            return self.reject(record, cached.refused, now)
        prepared = cached.only or self._cache.prepared_for(cached, record)
        hop = self._codec.hop(record.hop)
        verdict, reason = prepared.decision.verdict, prepared.decision.error
        if verdict is Verdict.SEND:
            return self._send(record, prepared, hop, now)
        if verdict is Verdict.FORWARD:
            return self._forward(record, prepared, hop, now)
        if verdict is Verdict.PROBE:
            return self._to_principal(cached, record, prepared, hop, now)
        # A candidate without delivery answers with an Error (R7.4).
        if verdict is Verdict.DELIVER or (prepared.decision.candidates and not record.is_ack):
            # The key of a closed endpoint is kept only while copies of its dialog may arrive.
            if record.origin is Origin.OUTSIDE and not record.is_ack and hop.expired(now):
                return self.reject(record, Number.TIME_TO_LIVE_EXCEEDED, now, hop)
            place = Place.ACK if record.is_ack else Place.IN
            edited = hop.edited(self.instance, now, self.block(now), spend=False)
            inside = record.origin is Origin.INSIDE and not prepared.decision.looped_back
            owner = self._owner(cached, prepared, record.key, inside=inside)
            return Outcome((Copy(place, self.instance, prepared.route, edited, inside, owner),))
        assert reason is not None, "a copy that is neither sent nor delivered has a number"
        return self.reject(record, reason, now, hop)

    def lane(self, record: Record, now: int) -> Lane | None:
        """Return the decision that all copies with the record's route share, or ``None``.

        If the route has several addresses, only first copies share it.

        :meth:`handle` would return the same outcome for each of these copies. Raises MalformedError
        as :meth:`handle` does.
        """
        cached = self._plan(record, now)
        if cached.only is None:
            return None
        prepared, inside = cached.only, record.origin is Origin.INSIDE
        verdict, looped = prepared.decision.verdict, prepared.decision.looped_back
        if verdict is Verdict.DELIVER:
            place = Place.ACK if record.is_ack else Place.IN
            if self._mirrored and self._known_broker(cached, prepared) is None:
                return None  # the topic depends on the conversation (U-13)
            inside = inside and not looped
            owner = self._owner(cached, prepared, None, inside=inside)
            return Lane(
                place, self.instance, prepared.route, inside=inside, database=owner, retries=True
            )
        sends = verdict is Verdict.SEND
        if verdict is not Verdict.FORWARD and not (sends and len(prepared.targets) == 1):
            return None
        chosen = self._failover(prepared, 0)
        if not chosen:
            return None
        target = prepared.targets[chosen[0]] or ""
        hide = target in self._strangers
        return Lane(
            Place.TXQ,
            target,
            prepared.route,
            begun=sends,
            spend=not sends,
            hide=hide,
            retries=len(prepared.targets) == 1,
        )

    def _plan(self, record: Record, now: int) -> CachedPlan:
        cached = self._plans.get((record.source, record.route))
        if cached is None or not cached.since <= now < cached.until:
            cached = self._cache.make(record, now)
        return cached

    def _owner(
        self, cached: CachedPlan, prepared: Prepared, key: bytes | None, *, inside: bool
    ) -> str | None:
        """Return the mirrored database for which a delivered frame is intended, if any."""
        if not self._mirrored:
            return None
        conversation = _ANY if key is None else self._codec.conversation(key)
        parties = cached.parties._replace(to_broker=self._known_broker(cached, prepared))
        return owner_of(self.catalog, self.instance, parties, conversation, inside=inside)

    @staticmethod
    def _known_broker(cached: CachedPlan, prepared: Prepared) -> str | None:
        known = cached.parties.to_broker
        return prepared.decision.broker if known is None else known

    def block(self, now: int) -> bytes:
        """Return the bytes that add this visit to ``sb-hop``; computed once per instant."""
        if self._visit[0] != now:
            self._visit = (now, self._codec.visit(self.instance, now))
        return self._visit[1]

    def reject(
        self, record: Record, number: Number, now: int, hop: HopView | None = None
    ) -> Outcome:
        """Return the report of a dropped copy; its sender is notified if it is here."""
        hop = hop or self._codec.hop(record.hop)
        cached = self._plans.get((record.source, record.route)) or self._cache.make(record, now)
        routes = cached.plan.decision(self._codec.conversation(record.key)).routes
        return report_drop(record, number, self._here, self._codec, hop, now, routes)

    def hold_key(self, record: Record) -> tuple[object, ...]:
        """Return the key that identifies identical buffered copies (U-36).

        Copies from another cluster have separate keys, because that cluster may know the id of any
        dialog. Raises MalformedError if the record's envelope is invalid.
        """
        self._codec.conversation(record.key)  # this raises MalformedError now, not on release
        if record.message is None:
            return (record.source, record.key, record.hop)
        header = self._codec.header(record.message)
        if not header.sequenced:
            return (record.source, header.message_id)
        parties = self._codec.parties(record.route)
        # as bytes, because another cluster could choose integers with equal hashes
        number = b"%d.%d" % (header.sequence, header.fragment)
        return (record.source, record.key, parties.from_initiator, number)

    def release(self, record: Record, now: int) -> Outcome:
        """Reconsider a buffered record, whose time to live might have expired (11290)."""
        hop = self._codec.hop(record.hop)
        if hop.expired(now):
            return self.reject(record, Number.NOT_DELIVERABLE_IN_TIME, now, hop)
        return self.handle(record, now)

    # --- the network -----------------------------------------------------------------------------

    def _send(self, record: Record, prepared: Prepared, hop: HopView, now: int) -> Outcome:
        if self._transport is Transport.ALL:
            chosen = [i for i, target in enumerate(prepared.targets) if target is not None]
            seed = 0
        else:
            seed = self._seed(record)
            turn = turn_at_origin(hop.attempt, len(prepared.targets), returning=prepared.returning)
            chosen = self._failover(prepared, hop.first_hop + seed + turn)
        if not chosen:
            return self.reject(record, Number.TARGET_UNREACHABLE, now, hop)
        block, copies = self.block(now), []
        for i in chosen:
            used = (i - seed) % len(prepared.targets)  # the index that leads back to this instance
            target = prepared.targets[i] or ""
            hide = target in self._strangers
            edited = hop.edited(self.instance, now, block, spend=False, first_hop=used, hide=hide)
            copies.append(Copy(Place.TXQ, target, prepared.route, edited))
        return Outcome(tuple(copies))

    def _forward(self, record: Record, prepared: Prepared, hop: HopView, now: int) -> Outcome:
        if hop.hops_remaining <= 0:
            return self.reject(record, Number.HOPS_EXHAUSTED, now, hop)
        if hop.expired(now):
            return self.reject(record, Number.TIME_TO_LIVE_EXCEEDED, now, hop)
        turn = 0
        if hop.attempt:  # as on the fast path, the path of a first copy is not read
            turn = turn_at_gateway(hop.attempt, len(prepared.targets), hop.visits)
        chosen = self._failover(prepared, turn)
        if not chosen:
            return HELD
        target = prepared.targets[chosen[0]] or ""
        hide = target in self._strangers
        edited = hop.edited(self.instance, now, self.block(now), spend=True, hide=hide)
        return Outcome((Copy(Place.TXQ, target, prepared.route, edited),))

    def _to_principal(
        self, cached: CachedPlan, record: Record, prepared: Prepared, hop: HopView, now: int
    ) -> Outcome:
        """Send only to the principal of a mirrored pair; 9794 while the principal is unknown."""
        known = None
        if self._roles is not None:
            decision = prepared.decision
            broker = decision.broker and broker_key(decision.broker)  # in comparable form
            pair = Pair(cached.parties.to_service, broker, decision.addresses)

            def reachable(partner: int) -> bool:
                target = prepared.targets[partner]
                return target is not None and self._reachable(target)

            known = self._roles.principal(pair, reachable, hop.attempt, now)
        if known is None:
            return self.reject(record, Number.MIRRORING_NOT_READY, now, hop)
        only = replace(prepared, targets=(prepared.targets[known],))
        if record.origin is Origin.INSIDE and not prepared.decision.looped_back:
            return self._send(record, only, hop, now)
        return self._forward(record, only, hop, now)

    def _failover(self, prepared: Prepared, start: int) -> list[int]:
        """Return the first reachable address, starting at the address whose turn it is."""
        count = len(prepared.targets)
        for step in range(count):
            at = (start + step) % count
            target = prepared.targets[at]
            if target is not None and self._reachable(target):
                return [at]
        return []

    def _seed(self, record: Record) -> int:
        if self._transport is not Transport.SEEDED:
            return 0
        return pick_broker(1 << 16, self._codec.conversation(record.key))
