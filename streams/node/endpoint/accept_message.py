"""Find or create the endpoint of a message frame, or reject the frame (5.3, R7)."""

from __future__ import annotations

from streams.errors import ConversationEvent, EventKind, Number
from streams.node.catalog_view import Service
from streams.node.endpoint.commands import Opening, new_endpoint
from streams.node.endpoint.effects_to_records import send_ack, send_error
from streams.node.endpoint.overlay import Overlay
from streams.node.mirroring.owners import receiving_database
from streams.protocol import (
    ADDRESSES,
    Ack,
    Flag,
    Machine,
    Message,
    Parties,
    State,
    invalid_name,
)


def admit(tx: Overlay, message: Message) -> Machine | None:
    """Return the machine for the message, or ``None`` after a rejection was reported."""
    parties = message.parties
    broken = invalid_name(parties)
    if broken is not None:
        return _reject(tx, message, broken)
    database = choose_database(tx, message)
    if database is None:
        number = Number.TARGET_BROKER_NOT_HERE if parties.to_broker else Number.TO_SERVICE_NOT_FOUND
        return _reject(tx, message, number)
    key = (database, message.conversation, not parties.from_initiator)
    machine = tx.machine(key)
    if machine is None:
        # The endpoint of a late copy may have been removed, so no endpoint is created and no reply
        # is sent.
        if message.is_late:
            return _reject(tx, message, Number.TIME_TO_LIVE_EXCEEDED)
        return _create(tx, message, database) if parties.from_initiator else _unknown(tx, message)
    dialog = machine.dialog
    if not tx.endpoint.is_alive(dialog):
        return _reject(tx, message, Number.TARGET_BROKER_UNAVAILABLE)
    if dialog.service != parties.to_service:
        return _reject(tx, message, Number.TO_SERVICE_DIFFERS)
    if dialog.contract != parties.contract:
        return _reject(tx, message, Number.CONTRACT_DIFFERS)
    if tx.endpoint.service(database, dialog.service) is None:
        if message.header.sequenced:  # U-32: the queue existed when the dialog was established
            back = reply_parties(tx, message, database)
            dropped, attempt = Number.SERVICE_DROPPED_THERE, message.journey.attempt
            send_error(tx, message.conversation, back, dropped, attempt)
        return _reject(tx, message, Number.TO_SERVICE_NOT_FOUND)
    if tx.endpoint.has_probes:  # a catalog change may not have reached the dialog yet
        tx.heed(machine)
    return machine


def choose_database(tx: Overlay, message: Message) -> str | None:
    """Return a frame's database: that of its endpoint, or the one that R7.2 and U-13 select."""
    parties, here = message.parties, tx.endpoint.here
    if parties.to_broker is None:
        for name, database in here.databases.items():
            if database.enabled and tx.knows((name, message.conversation, False)):
                return name
    return receiving_database(here, parties, message.conversation, inside=message.inside)


def _create(tx: Overlay, message: Message, database: str) -> Machine | None:
    parties, header = message.parties, message.header
    service = tx.endpoint.service(database, parties.to_service)
    if service is None:
        # A first copy gets no answer: a new service may not be known here yet.
        if parties.to_broker is not None and header.sequenced and message.journey.attempt:
            back, attempt = reply_parties(tx, message, database), message.journey.attempt
            missing = Number.REMOTE_SERVICE_MISSING
            send_error(tx, message.conversation, back, missing, attempt)
        return _reject(tx, message, Number.TO_SERVICE_NOT_FOUND, database)
    if header.dialog_expires_at <= tx.now:  # the key of a closed endpoint is kept until this time
        return _reject(tx, message, Number.LIFETIME_EXCEEDED)
    if not header.sequenced or header.sequence >= tx.endpoint.limits.window:
        return _unknown(tx, message)
    if header.sequence == 0 and header.flags & (Flag.END | Flag.ERROR):
        tx.emit_event(
            EventKind.CORRUPTED_MESSAGE,
            conversation=message.conversation,
            error=Number.BEGINS_WITH_ITS_END,
            parties=parties,
            header=header,
            detail="'end' or 'error' on the first message of a dialog (11277)",
        )
        return None
    back = reply_parties(tx, message, database)
    unusable = _unusable_contract(tx, database, service, parties.contract)
    if unusable is not None:
        copy, sequence = message.journey, header.sequence
        ack = Ack(sequence + 1, sequence, copy.attempt, copy.first_hop, tx.now)
        send_ack(tx, message.conversation, back, ack, copy.attempt % ADDRESSES, 0)
        send_error(tx, message.conversation, back, unusable, copy.attempt)
        return _reject(tx, message, Number.CONTRACT_NOT_USABLE, database)
    opening = Opening(
        message.conversation,
        database,
        back.from_broker,
        is_initiator=False,
        state=State.CO if header.sequence == 0 and header.fragments == 1 else State.SI,
        service=parties.to_service,
        far_service=parties.from_service,
        far_broker=parties.from_broker,
        contract=parties.contract,
        expires_at=header.dialog_expires_at,
    )
    dialog = new_endpoint(tx.endpoint, opening, tx.now)
    key = (database, message.conversation, False)
    machine = tx.adopt(key, dialog)
    tx.report(key, ConversationEvent.CREATED)
    return machine


def _unusable_contract(
    tx: Overlay, database: str, service: Service, contract: str
) -> Number | None:
    """Return the Error for a contract that the database lacks or the service does not accept."""
    if tx.endpoint.contract(database, contract) is None:
        return Number.CONTRACT_UNKNOWN_HERE
    return None if contract in service.contracts else Number.CONTRACT_NOT_ACCEPTED


def _unknown(tx: Overlay, message: Message) -> Machine | None:
    """Reject a message that has no endpoint and cannot create one (U-30)."""
    if message.header.sequenced:
        database = choose_database(tx, message)
        if database is not None:
            send_error(
                tx,
                message.conversation,
                reply_parties(tx, message, database),
                Number.REMOTE_CANNOT_EXCHANGE,
                message.journey.attempt,
            )
    first = message.parties.from_initiator
    number = Number.NOT_THE_FIRST_MESSAGE if first else Number.DIALOG_UNKNOWN
    return _reject(tx, message, number)


def reply_parties(tx: Overlay, message: Message, database: str) -> Parties:
    """Return the parties of a reply to a message without an endpoint in this instance."""
    return answering(message.parties, tx.endpoint.here.databases[database].broker_id)


def answering(asked: Parties, broker_id: str) -> Parties:
    """Return the parties of a reply from the broker to which the frame was addressed."""
    return Parties(
        asked.from_service,
        asked.from_broker,
        asked.to_service,
        broker_id,
        asked.contract,
        not asked.from_initiator,
    )


def _reject(
    tx: Overlay, message: Message, number: Number, database: str | None = None
) -> Machine | None:
    """Report why no endpoint accepts the message; ``database`` has rejected it, if known."""
    tx.emit_event(
        EventKind.MESSAGE_UNDELIVERABLE,
        database=database,
        conversation=message.conversation,
        error=number,
        subclass=1 if message.header.sequenced else 2,
        parties=message.parties,
        header=message.header,
        journey=message.journey,
        attempt=message.journey.attempt,
    )
    return None
