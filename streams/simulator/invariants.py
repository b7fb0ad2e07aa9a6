"""Invariants of every run, checked after every event on the objects that the event changed.

1. exactly once and in order per dialog and direction
2. nothing acknowledged is lost; nothing unacknowledged leaves the transmission queue early
3. once locked, a dialog's broker id never changes
4. hops never exceed the limit; nothing is forwarded after its time to live
5. when faults stop and a route exists, every dialog finishes (:mod:`streams.simulator.finish`)
6. a forwarder has no dialog state: a new forwarder makes the same decisions
7. state per dialog stays bounded, however long the backlog is (:mod:`streams.simulator.bounds`)

A broken invariant is returned as a :class:`Violation`, not raised.
"""

from __future__ import annotations

import traceback
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from streams.errors import EventKind, Number
from streams.node import Copy, Endpoint, Outcome, QueueMessage, Record, Transaction
from streams.protocol import CHUNK, Chunk, CommandKind, Dialog, DialogKey, Flag, Limits, State
from streams.routing import Origin, broker_key
from streams.simulator.bounds import crowds, excesses
from streams.simulator.clock import SECOND, Chance, Clock
from streams.simulator.codec import Hop
from streams.simulator.facts import Direction, Facts
from streams.simulator.storage import Batch, Store

_EXPIRED = EventKind.CONVERSATION, Number.LIFETIME_EXCEEDED


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated invariant; ``at`` is in virtual microseconds.

    Invariant 0 means that no input may make the workers' code fail.
    """

    invariant: int
    why: str
    at: int
    instance: str = ""
    conversation: uuid.UUID | None = None

    def __str__(self) -> str:
        where = f" at {self.instance}" if self.instance else ""
        about = f", dialog {self.conversation}" if self.conversation else ""
        return f"invariant {self.invariant} at {self.at / SECOND:.6f} s{where}{about}: {self.why}"


@dataclass(slots=True)
class _Received:
    """The messages that one endpoint has stored: all with numbers below ``next``.

    ``shown`` is the number of the last message in its queue, ``peer`` the sender's broker id.
    """

    next: int = 0
    shown: int = -1
    peer: str | None = None


@dataclass(slots=True)
class Invariants:
    """The checks of one run; ``violation`` is the first violation.

    ``fresh`` is the share of decisions that are compared with those of a new forwarder (invariant
    6).
    """

    clock: Clock
    facts: Facts
    chance: Chance
    limits: Limits
    fresh: float = 1.0
    violation: Violation | None = None
    _received: dict[tuple[str, DialogKey], _Received] = field(default_factory=dict)
    _endpoints: dict[Direction, tuple[str, DialogKey]] = field(default_factory=dict)
    _locks: dict[tuple[str, DialogKey], str] = field(default_factory=dict)
    _refused: dict[uuid.UUID, None] = field(default_factory=dict)

    def broken(
        self, number: int, why: str, instance: str = "", conversation: uuid.UUID | None = None
    ) -> None:
        """Report a violated invariant; only the first violation is kept."""
        if self.violation is None:
            self.violation = Violation(number, why, self.clock.now, instance, conversation)

    def failed(self, instance: str, error: Exception) -> None:
        """Report that an input made the workers' code raise an exception."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename.rpartition('/')[2]}:{frame.lineno} ({frame.name})"
        self.broken(0, f"{type(error).__name__}: {error} in {where}", instance)

    # --- an endpoint worker has committed --------------------------------------------------------

    def committed(self, at: Store, node: Endpoint, tx: Transaction, batch: Batch) -> None:
        """Check a transaction: ``node`` is the state before, ``tx`` the change."""
        for key, machine in tx.machines.items():
            self._locked(at.name, key, machine.dialog)
        for message in (*tx.queued, *tx.own):
            self._in_order(at.name, message)
        for event in tx.events:
            if event["error"] == Number.CONTRACT_NOT_USABLE:  # acknowledged anyway (5.3)
                self._refused[uuid.UUID(event["conversation"])] = None
            if (event["event"], event["error"]) == _EXPIRED:
                self._expired(at.name, tx, uuid.UUID(event["conversation"]))
        for key, machine in tx.machines.items():
            new, old = machine.dialog, node.dialogs.get(key)
            self._stored(at.name, key, old, new)
            self._acknowledged(at.name, key, old, new, tx, batch)
            for why in (
                () if machine.forgotten else excesses(at, key, new, self.limits, self.facts.longest)
            ):
                self.broken(7, why, at.name, key[1])
        for why in crowds(at, tx):
            self.broken(7, why, at.name)

    def _in_order(self, instance: str, message: QueueMessage) -> None:
        """Invariant 1: each message arrives once, in order, and as it was accepted."""
        header, parties = message.header, message.parties
        if not header.sequenced:
            return
        key = (message.database, message.conversation, not parties.from_initiator)
        seen = self._received.setdefault((instance, key), _Received())
        number, skips = header.sequence, bool(header.flags & Flag.SKIPS)
        if number <= seen.shown:
            why = f"message {number} arrived in {message.queue} after {seen.shown}"
            self.broken(1, why, instance, message.conversation)
        elif number != seen.shown + 1 and not skips:
            why = f"message {seen.shown + 1} is missing in {message.queue} before {number}"
            self.broken(1, why, instance, message.conversation)
        seen.shown = number
        direction = Direction(message.conversation, parties.from_initiator, parties.from_broker)
        accepted = self.facts.accepted.get(direction, {}).get(number)
        if accepted is None:
            why = f"message {number} was never accepted from {parties.from_broker}"
            self.broken(1, why, instance, message.conversation)
        elif accepted.message_id != header.message_id or (
            accepted.kind is CommandKind.SEND and accepted.body != message.body
        ):
            why = f"message {number} in {message.queue} differs from the one sent under this number"
            self.broken(1, why, instance, message.conversation)

    def _stored(self, instance: str, key: DialogKey, old: Dialog | None, new: Dialog) -> None:
        """Invariant 2, the receiver: all messages that it reports as stored are in its queue."""
        seen = self._received.setdefault((instance, key), _Received())
        stored = new.receive_sequence
        if old is not None and stored < old.receive_sequence:
            why = f"the receive sequence went back from {old.receive_sequence} to {stored}"
            self.broken(1, why, instance, key[1])
        # Parked messages wait for their queue; messages from `deaf_from` on are never received.
        parked = {number for number, _ in new.parked}
        deaf = stored if new.deaf_from is None else new.deaf_from
        if new.far_broker is not None:  # an Error skips messages that its sender has discarded
            parked |= self.facts.discarded.get(
                Direction(key[1], not key[2], new.far_broker), {}
            ).keys()
        if any(number not in parked for number in range(seen.shown + 1, min(stored, deaf))):
            why = f"messages below {stored} count as stored, but the queue ends at {seen.shown}"
            self.broken(2, why, instance, key[1])
        if stored > deaf and new.far_broker is not None:
            direction = Direction(key[1], not key[2], new.far_broker)
            self.facts.discard(direction, range(deaf, stored), "the receiver had ended")
        seen.next = max(seen.next, stored)
        seen.peer = None if new.far_broker is None else broker_key(new.far_broker)
        own = Direction(key[1], key[2], broker_key(new.broker_id))
        self._endpoints[own] = (instance, key)

    def _acknowledged(
        self,
        instance: str,
        key: DialogKey,
        old: Dialog | None,
        new: Dialog,
        tx: Transaction,
        batch: Batch,
    ) -> None:
        """Invariant 2, the sender: it removes only messages that are stored or may be discarded."""
        past, place = old.acknowledged if old is not None else (0, 0), new.acknowledged
        before, after = past[0], place[0]
        if place > (new.send_sequence, 0) or place < past:
            why = f"the acknowledged sequence went from {past} to {place} of {new.send_sequence}"
            self.broken(2, why, instance, key[1])
        waiting = new.send_sequence - after
        kept = sum(_kept(number, chunk, after) for number, chunk in new.chunks.items())
        if waiting != kept:
            why = f"messages not acknowledged: {waiting}; in the transmission queue: {kept}"
            self.broken(2, why, instance, key[1])
        if new.state is State.CD and waiting:
            self.broken(2, f"the endpoint is closed; messages waiting: {waiting}", instance, key[1])
        if after == before:
            return
        gone = self.facts.let_go.setdefault(Direction(key[1], key[2], new.broker_id), {})
        gone.update(dict.fromkeys(range(before, after), self.clock.now))
        stored, reason = self._is_stored(key, new), self._reason(key, old, new, tx, batch)
        if stored and reason is None and not new.locked:
            why = "the endpoint's messages were acknowledged, but it is not locked"
            self.broken(3, why, instance, key[1])
        if stored:
            return
        if reason is None:
            why = f"messages below {after} left the transmission queue without being stored"
            self.broken(2, why, instance, key[1])
        else:
            direction = Direction(key[1], key[2], new.broker_id)
            self.facts.discard(direction, range(before, after), reason)

    def _is_stored(self, key: DialogKey, sender: Dialog) -> bool:
        if sender.far_broker is None:
            return False
        peer = Direction(key[1], not key[2], broker_key(sender.far_broker))
        place = self._endpoints.get(peer)
        if place is None:
            return False
        received = self._received[place]
        mine = received.peer == broker_key(sender.broker_id)
        return mine and received.next >= sender.acknowledged[0]

    def _reason(
        self, key: DialogKey, old: Dialog | None, new: Dialog, tx: Transaction, batch: Batch
    ) -> str | None:
        """Return why a dialog may discard messages in this transaction (4.8), or ``None``."""
        over = new.state in (State.ER, State.CD)
        if over and new.expires_at <= tx.now:
            return "the dialog's lifetime had expired"
        if over and old is not None and not tx.endpoint.is_untouched(old):
            return "the catalog has ended the dialog, for example by NEW_BROKER"
        if old is not None and old.error_epoch != new.error_epoch:
            return "the database was set to end its conversations"
        for command in batch.commands:
            mine = (command.database, command.conversation, command.from_initiator) == key
            # Without an error, END discards messages only if the other side is gone.
            if (
                mine
                and command.kind is CommandKind.END
                and (over or command.error_code is not None)
            ):
                return "the sender ended the dialog"
        for message in batch.messages:
            to_me = (message.conversation, message.parties.from_initiator) == (key[1], not key[2])
            if over and to_me and message.header.flags & Flag.ERROR:
                return "the other side sent an Error"
        return "the target rejected the contract" if key[1] in self._refused else None

    def _expired(self, instance: str, tx: Transaction, conversation: uuid.UUID) -> None:
        """Invariant 2: messages are discarded only after the lifetime has expired."""
        for key, machine in tx.machines.items():
            left = machine.dialog.expires_at - tx.now
            if key[1] == conversation and left > 0:
                why = f"the dialog's lifetime expired {left} ms early"
                self.broken(2, why, instance, conversation)

    def _locked(self, instance: str, key: DialogKey, new: Dialog) -> None:
        """Invariant 3."""
        known = self._locks.get((instance, key))
        now = broker_key(new.far_broker) if new.locked and new.far_broker is not None else None
        if known is None and now is not None:
            self._locks[instance, key] = now
        elif known is not None and now != known:
            why = f"the dialog was locked to {known}, and is now locked to {now or 'none'}"
            self.broken(3, why, instance, key[1])

    # --- a forwarder has decided -----------------------------------------------------------------

    def decided(
        self, instance: str, record: Record, outcome: Outcome, anew: Callable[[], Outcome]
    ) -> None:
        """Invariant 6: a forwarder that knows only the principals makes the same decision.

        ``anew`` is that forwarder's decision.
        """
        if self.chance.happens(self.fresh) and anew() != outcome:
            why = "a restarted forwarder decides differently from the running one"
            self.broken(6, why, instance, uuid.UUID(bytes=record.key))

    def holds(self, instance: str, held: int, limit: int) -> None:
        """Invariant 7, forwarders: they buffer no more bytes than MESSAGE_FORWARD_SIZE."""
        if held > limit:
            why = f"a forwarder buffers {held} bytes; the limit is {limit}"
            self.broken(7, why, instance)

    def forwarded(self, instance: str, record: Record, copy: Copy, now: int) -> None:
        """Invariant 4."""
        hop = Hop(copy.hop)
        conversation = uuid.UUID(bytes=record.key)
        if hop.hops_remaining < 0 or hop.hops_remaining + hop.visits - 1 > self.limits.hops:
            why = f"a copy leaves after visit {hop.visits}; hops left: {hop.hops_remaining}"
            self.broken(4, why, instance, conversation)
        if record.origin is Origin.OUTSIDE and hop.expired(now):
            why = f"a copy is forwarded {now - hop.expires_at} ms after its time to live"
            self.broken(4, why, instance, conversation)


def _kept(number: int, chunk: Chunk, acknowledged: int) -> int:
    """Return the number of positions of unacknowledged messages in a chunk."""
    waiting = chunk.positions[max(acknowledged - number * CHUNK, 0) :]
    return sum(position >= 0 for position in waiting)
