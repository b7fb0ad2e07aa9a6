"""What a forwarder does with a record: decide, count the hop, drop what is too old, pass on.

Pure and without dialog state: the same record under the same catalog gives the same outcome, and
losing a forwarder loses nothing but copies. The plan for a record is found by (source, raw bytes of
``sb-route``) in a bounded cache; only what was not seen before is decoded. The source is the
origin, or the other cluster that wrote the record. What another cluster writes must name a sender
that this cluster may name; that is decided once for each plan.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from streams.errors import Number
from streams.node.catalog_view import CatalogView
from streams.node.forwarder.lane import Lane
from streams.node.forwarder.outcome import HELD, Copy, Outcome, Place, Record
from streams.node.forwarder.ports import EnvelopeCodec, HopView, Roles
from streams.node.forwarder.reject import refuse
from streams.node.forwarder.turn import turn_at_origin, turn_on_the_way
from streams.node.mirroring.mirror import Pair
from streams.node.mirroring.owners import owner_of
from streams.protocol import Parties
from streams.routing import Address, Decision, Origin, Plan, Query, Verdict, pick_broker, plan
from streams.topology import Transport

CACHE_BYTES = 64 << 20
"""What the plans of a forwarder may take; thousands of pairs of services fit."""
WAY_BYTES = 3_072
"""What one takes beside the bytes of its route, of which it has some twice."""
_ANY = uuid.UUID(int=0)
_Key = tuple[Origin | str, bytes]
"""Where a record is from (:attr:`Record.source`), and its ``sb-route``."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A decision, prepared: where to (``None``: an address of no instance), with which header.

    ``returning``: towards the initiator.
    """

    decision: Decision
    route: bytes
    targets: tuple[str | None, ...]
    returning: bool


@dataclass(slots=True)
class _Way:
    """A plan with its prepared leaves; ``only`` where every dialog takes the same one.

    It holds from ``since`` until before ``until``. A clock may go back: a route that had expired
    is there again, as for a forwarder that has just been started. A past decides nothing (5.1-4).
    ``forged``: another cluster wrote it that may not name such a sender.
    """

    since: int
    until: float
    plan: Plan
    parties: Parties
    forged: bool = False
    only: _Leaf | None = None
    leaves: dict[Decision, _Leaf] = field(default_factory=dict)


class Forwarder:
    """One instance's routing decision, applied to records.

    ``reachable`` is the presence predicate; ``roles`` knows the principals of mirrored routes,
    without it none is known. ``now`` is epoch milliseconds everywhere.
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
        self._ways: dict[_Key, _Way] = {}
        self._size = 0
        self._visit = (-1, b"")
        self.switch(catalog)

    def switch(self, catalog: CatalogView) -> None:
        """Take over a new version of the catalog: every plan is made anew."""
        self.catalog = catalog
        self._here = catalog.instances[self.instance]
        self._mirrored = any(instance == self.instance for instance, _ in catalog.mirrors)
        self._transport = catalog.transports[self.instance]
        self._strangers = catalog.hides.get(self.instance, frozenset())
        self._writers = catalog.ingress.get(self.instance, {})
        self._ways.clear()
        self._size = 0

    def instance_at(self, address: Address) -> str | None:
        """Return the instance that an address leads to from here; ``None``: no one lives there."""
        return self.instance if self._here.is_here(address) else self.catalog.instance_at(address)

    def handle(self, record: Record, now: int) -> Outcome:
        """Decide one record; raises MalformedError (of the codec) where its envelope is rubbish."""
        way = self._ways.get((record.source, record.route))
        if way is None or not way.since <= now < way.until:
            way = self._plan(record, now)
        if way.forged:
            return self.refuse(record, Number.SENDER_NOT_PERMITTED, now)
        leaf = way.only or self._balanced(way, record)
        hop = self._codec.hop(record.hop)
        verdict = leaf.decision.verdict
        if verdict is Verdict.SEND:
            return self._send(record, leaf, hop, now)
        if verdict is Verdict.FORWARD:
            return self._forward(record, leaf, hop, now)
        if verdict is Verdict.PROBE:
            return self._to_principal(way, record, leaf, hop, now)
        if verdict is Verdict.DELIVER:
            # A closed endpoint's key is kept no longer than a copy of its dialog may come.
            if record.origin is Origin.OUTSIDE and not record.is_ack and hop.expired(now):
                return self.refuse(record, Number.TIME_TO_LIVE_EXCEEDED, now, hop)
            place = Place.ACK if record.is_ack else Place.IN
            edited = hop.edited(self.instance, now, self.block(now), spend=False)
            inside = record.origin is Origin.INSIDE and not leaf.decision.looped_back
            owner = self._owner(way, leaf, record.key, inside=inside)
            return Outcome((Copy(place, self.instance, leaf.route, edited, inside, owner),))
        reason = leaf.decision.error
        assert reason is not None, "what is neither sent nor delivered has one"
        return self.refuse(record, reason, now, hop)

    def lane(self, record: Record, now: int) -> Lane | None:
        """Return what all first copies with a record's route have in common now, if they have.

        :meth:`handle` would do the same with each of them. It has seen the route before.
        """
        way = self._ways.get((record.source, record.route))
        if way is None or way.forged or way.only is None or not way.since <= now < way.until:
            return None
        leaf, inside = way.only, record.origin is Origin.INSIDE
        verdict, looped = leaf.decision.verdict, leaf.decision.looped_back
        if verdict is Verdict.DELIVER:
            place, known = Place.ACK if record.is_ack else Place.IN, self._known_broker(way, leaf)
            if self._mirrored and known is None:
                return None  # whose topics it belongs into depends on the conversation (U-13)
            inside = inside and not looped
            owner = self._owner(way, leaf, None, inside=inside)
            return Lane(place, self.instance, leaf.route, inside=inside, database=owner)
        sends = verdict is Verdict.SEND
        if verdict is not Verdict.FORWARD and not (sends and len(leaf.targets) == 1):
            return None
        chosen = self._failover(leaf, 0)
        if not chosen:
            return None
        target = leaf.targets[chosen[0]] or ""
        hide = target in self._strangers
        return Lane(Place.TXQ, target, leaf.route, begun=sends, spend=not sends, hide=hide)

    def _owner(self, way: _Way, leaf: _Leaf, key: bytes | None, *, inside: bool) -> str | None:
        """Return the mirrored database that a delivered frame is for, if it is one."""
        if not self._mirrored:
            return None
        conversation = _ANY if key is None else self._codec.conversation(key)
        parties = way.parties._replace(to_broker=self._known_broker(way, leaf))
        return owner_of(self.catalog, self.instance, parties, conversation, inside=inside)

    @staticmethod
    def _known_broker(way: _Way, leaf: _Leaf) -> str | None:
        known = way.parties.to_broker
        return leaf.decision.broker if known is None else known

    def block(self, now: int) -> bytes:
        """Return the bytes by which a visit here is added to ``sb-hop``, made once per instant."""
        if self._visit[0] != now:
            self._visit = (now, self._codec.visit(self.instance, now))
        return self._visit[1]

    def refuse(
        self, record: Record, number: Number, now: int, hop: HopView | None = None
    ) -> Outcome:
        """Tell the sender's endpoint (begun here) or nobody (from outside) that a copy is gone."""
        hop = hop or self._codec.hop(record.hop)
        way = self._ways.get((record.source, record.route)) or self._plan(record, now)
        routes = way.plan.decision(self._codec.conversation(record.key)).routes
        return refuse(record, number, self._here, self._codec, hop, now, routes)

    def hold_key(self, record: Record) -> tuple[object, ...]:
        """Return what makes two held copies the same one (U-36); raises MalformedError."""
        self._codec.conversation(record.key)  # found malformed now, not when the copy is let go
        if record.message is None:
            return (record.key, record.hop)
        header = self._codec.header(record.message)
        if not header.sequenced:
            return (header.message_id,)
        parties = self._codec.parties(record.route)
        return (record.key, parties.from_initiator, header.sequence, header.fragment)

    def release(self, record: Record, now: int) -> Outcome:
        """Decide a held record again; its time to live may be over by now (11290)."""
        hop = self._codec.hop(record.hop)
        if hop.expired(now):
            return self.refuse(record, Number.NOT_DELIVERABLE_IN_TIME, now, hop)
        return self.handle(record, now)

    # --- the network -----------------------------------------------------------------------------

    def _send(self, record: Record, leaf: _Leaf, hop: HopView, now: int) -> Outcome:
        if self._transport is Transport.ALL:
            chosen = [i for i, target in enumerate(leaf.targets) if target is not None]
            seed = 0
        else:
            seed = self._seed(record)
            turn = turn_at_origin(hop.attempt, len(leaf.targets), returning=leaf.returning)
            chosen = self._failover(leaf, hop.first_hop + seed + turn)
        if not chosen:
            return self.refuse(record, Number.TARGET_UNREACHABLE, now, hop)
        block, copies = self.block(now), []
        for i in chosen:
            used = (i - seed) % len(leaf.targets)  # the index that leads here again
            target = leaf.targets[i] or ""
            hide = target in self._strangers
            edited = hop.edited(self.instance, now, block, spend=False, first_hop=used, hide=hide)
            copies.append(Copy(Place.TXQ, target, leaf.route, edited))
        return Outcome(tuple(copies))

    def _forward(self, record: Record, leaf: _Leaf, hop: HopView, now: int) -> Outcome:
        if hop.hops_remaining <= 0:
            return self.refuse(record, Number.HOPS_EXHAUSTED, now, hop)
        if hop.expired(now):
            return self.refuse(record, Number.TIME_TO_LIVE_EXCEEDED, now, hop)
        chosen = self._failover(leaf, turn_on_the_way(hop.attempt, len(leaf.targets), hop.visits))
        if not chosen:
            return HELD
        target = leaf.targets[chosen[0]] or ""
        hide = target in self._strangers
        edited = hop.edited(self.instance, now, self.block(now), spend=True, hide=hide)
        return Outcome((Copy(Place.TXQ, target, leaf.route, edited),))

    def _to_principal(
        self, way: _Way, record: Record, leaf: _Leaf, hop: HopView, now: int
    ) -> Outcome:
        """Send to the principal of a mirrored pair and to nobody else; 9794 while it is unknown."""
        known = None
        if self._roles is not None:
            pair = Pair(way.parties.to_service, leaf.decision.broker, leaf.decision.addresses)

            def reachable(partner: int) -> bool:
                target = leaf.targets[partner]
                return target is not None and self._reachable(target)

            known = self._roles.principal(pair, reachable, hop.attempt, now)
        if known is None:
            return self.refuse(record, Number.MIRRORING_NOT_READY, now, hop)
        only = replace(leaf, targets=(leaf.targets[known],))
        if record.origin is Origin.INSIDE and not leaf.decision.looped_back:
            return self._send(record, only, hop, now)
        return self._forward(record, only, hop, now)

    def _failover(self, leaf: _Leaf, start: int) -> list[int]:
        """Return the first reachable of the addresses, beginning with the one that is its turn."""
        count = len(leaf.targets)
        for step in range(count):
            at = (start + step) % count
            target = leaf.targets[at]
            if target is not None and self._reachable(target):
                return [at]
        return []

    def _seed(self, record: Record) -> int:
        if self._transport is not Transport.SEEDED:
            return 0
        return pick_broker(1 << 16, self._codec.conversation(record.key))

    # --- the plan --------------------------------------------------------------------------------

    def _plan(self, record: Record, now: int) -> _Way:
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
        way = _Way(now, made.valid_until * 1000, made, parties, self._is_forged(record, parties))
        if len(way.plan.decisions) == 1:
            only = way.plan.decisions[0]
            way.only = self._leaf(way, only, record.route) if isinstance(only, Decision) else None
        self._remember((record.source, record.route), way)
        return way

    def _is_forged(self, record: Record, parties: Parties) -> bool:
        """Tell whether another cluster wrote a record that names a sender that it may not name."""
        if record.writer is None:
            return False
        senders = self._writers.get(record.writer)
        return senders is None or not senders.allow(parties)

    def _remember(self, key: _Key, way: _Way) -> None:
        """Keep a plan, and let the oldest ones go where all together take too much."""
        if self._ways.pop(key, None) is None:
            self._size += _size(key)
        self._ways[key] = way
        while self._size > CACHE_BYTES:
            oldest = next(iter(self._ways))
            del self._ways[oldest]
            self._size -= _size(oldest)

    def _balanced(self, way: _Way, record: Record) -> _Leaf:
        decision = way.plan.decision(self._codec.conversation(record.key))
        return self._leaf(way, decision, record.route)

    def _leaf(self, way: _Way, decision: Decision, raw: bytes) -> _Leaf:
        leaf = way.leaves.get(decision)
        if leaf is None:
            if decision.broker is not None and way.parties.to_broker is None:
                raw = self._codec.encode_parties(
                    way.parties._replace(to_broker=decision.broker)  # U-07
                )
            targets = tuple(self.instance_at(address) for address in decision.addresses)
            leaf = way.leaves[decision] = _Leaf(
                decision, raw, targets, returning=not way.parties.from_initiator
            )
        return leaf


def _size(key: _Key) -> int:
    return WAY_BYTES + 2 * len(key[1])
