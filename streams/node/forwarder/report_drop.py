"""Report a copy that is not forwarded: event 140 (dropped), 160 (undeliverable) or 141 (delayed).

The sender's endpoint is notified only if it is in this instance (reference 5.1). So a message from
this instance is delayed (141), but a copy from another instance is dropped (140), even if the
number means a delay, such as 9792 (reference 5.2, 5.3, U-43). If an application could provide the
missing route, the sender's database requests it (R11).
"""

from __future__ import annotations

from dataclasses import dataclass

from streams.errors import Event, EventKind, Number, text_of
from streams.node.events import event
from streams.node.forwarder.outcome import Outcome, Record
from streams.node.forwarder.ports import EnvelopeCodec, HopView
from streams.protocol import Parties, Status, request_owner
from streams.routing import Instance, Origin
from streams.topology import MSDB

_DROPPED = {
    Number.HOPS_EXHAUSTED,
    Number.TIME_TO_LIVE_EXCEEDED,
    Number.NOT_DELIVERABLE_IN_TIME,
    Number.FORWARD_SIZE_EXCEEDED,
    Number.ALREADY_FORWARDING,
    Number.TRANSPORT_STOPPED,
    Number.TRANSPORT_SEND_ERROR,
    Number.ROUTE_INVALID,
}
_UNDELIVERABLE = {
    Number.REMOTE_SERVICE_MISSING,
    Number.TO_SERVICE_NOT_FOUND,
    Number.SENDER_NOT_PERMITTED,
    Number.TARGET_BROKER_NOT_HERE,
    Number.TARGET_BROKER_UNAVAILABLE,
    Number.TARGET_IS_MIRROR,
    Number.FROM_SERVICE_TOO_LONG,
    Number.FROM_BROKER_TOO_LONG,
    Number.TO_SERVICE_TOO_LONG,
    Number.CONTRACT_TOO_LONG,
}
_OFF = Number.TARGET_BROKER_UNAVAILABLE, Number.BROKER_DISABLED
_DETAIL = {_OFF[0]: f"{text_of(_OFF[0])}: {text_of(_OFF[1])} ({_OFF[1]:d})"}
"""Text for an error that is caused here only by a disabled broker (reference 2.2)."""


def report_drop(
    record: Record,
    number: Number,
    here: Instance,
    codec: EnvelopeCodec,
    hop: HopView,
    now: int,
    routes: tuple[str, ...] = (),
) -> Outcome:
    """Return the report of a copy that is not forwarded, for the reason ``number``.

    ``routes``: the names of the chosen routes.
    """
    drop = _Drop(record, number, here, codec, hop, now, codec.parties(record.route), routes)
    return Outcome(status=drop.status(), event=drop.event(), ask=drop.ask())


@dataclass(frozen=True, slots=True)
class _Drop:
    """The report of a copy that is not forwarded."""

    record: Record
    number: Number
    here: Instance
    codec: EnvelopeCodec
    hop: HopView
    now: int
    parties: Parties
    routes: tuple[str, ...]

    def status(self) -> Status | None:
        """Return the status for the sender's endpoint here."""
        record = self.record
        if record.origin is Origin.OUTSIDE or record.message is None:
            return None
        database = self.here.with_broker_id(self.parties.from_broker)
        if database is None:
            return None
        header = self.codec.header(record.message)
        if not header.sequenced:
            return None  # a broker Error; no message of the dialog waits for it
        return Status(
            self.codec.conversation(record.key),
            database.name,
            self.parties.from_initiator,
            int(self.number),
            self.hop.attempt,
            self.now,
            sequence=header.sequence,
        )

    def ask(self) -> Status | None:
        """Make the database whose routes were used request a route; for a forward, msdb (U-43)."""
        if self.number != Number.WAITING_FOR_CONFIGURATION:
            return None
        parties, databases = self.parties, self.here.databases
        outside = self.record.origin is Origin.OUTSIDE
        home = databases.get(MSDB) if outside else self.here.with_broker_id(parties.from_broker)
        if home is None:
            return None
        return Status(
            request_owner(home.broker_id, parties.to_service),
            home.name,
            parties.from_initiator,
            int(self.number),
            self.hop.attempt,
            self.now,
            parties.to_service,
            parties.to_broker,
        )

    def event(self) -> Event:
        """Return the event about the copy: delayed, dropped, or undeliverable."""
        record, message = self.record, self.record.message
        kind, subclass = EventKind.MESSAGE_CLASSIFY, 3
        if self.number in _UNDELIVERABLE:
            kind, subclass = EventKind.MESSAGE_UNDELIVERABLE, 2 if record.is_ack else 1
        elif self.number in _DROPPED or record.origin is Origin.OUTSIDE:
            kind, subclass = EventKind.FORWARDED_MESSAGE_DROPPED, 0
        return event(
            kind,
            at=self.now,
            instance=self.here.name,
            conversation=self.codec.conversation(record.key),
            error=self.number,
            subclass=subclass,
            parties=self.parties,
            header=self.codec.header(message) if message is not None else None,
            attempt=self.hop.attempt,
            hops_remaining=self.hop.hops_remaining,
            route=", ".join(self.routes) or None,
            detail=self._detail(),
        )

    def _detail(self) -> str:
        if self.number != Number.SENDER_NOT_PERMITTED:
            return _DETAIL.get(self.number, "")
        return (
            f"the cluster {self.record.writer} must not write as {self.parties.from_service} of "
            f"the broker {self.parties.from_broker} to {self.here.name}"
        )
