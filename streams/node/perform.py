"""From what a machine asks for to the records that stand for it."""

from __future__ import annotations

import uuid
from functools import lru_cache
from typing import TYPE_CHECKING

from streams.errors import EventKind, Number, text_of
from streams.node.output import OutFrame, QueueMessage, error_body
from streams.protocol import (
    DEFAULT,
    DIALOG_TIMER,
    END_DIALOG,
    ERROR,
    Ack,
    Command,
    CommandKind,
    Dialog,
    Effect,
    Enqueue,
    EnqueueError,
    EnqueueTimer,
    Flag,
    Header,
    Journey,
    Parties,
    Report,
    SendAck,
    SendError,
    Transmit,
)
from streams.routing import SYSTEM_SERVICE

if TYPE_CHECKING:
    from streams.node.transaction import Transaction


def perform(tx: Transaction, dialog: Dialog, effect: Effect) -> None:
    """Turn one effect into records of the transaction."""
    match effect:
        case Transmit():
            _transmit(tx, dialog, effect)
        case Enqueue(header, body, journey):
            _enqueue(tx, dialog, header, body, journey)
        case EnqueueError(number):
            body = error_body(-number, text_of(number))
            _enqueue_own(tx, dialog, f"error:{number}", ERROR, Flag.ERROR, body)
        case EnqueueTimer():
            _enqueue_own(tx, dialog, f"timer:{tx.now}", DIALOG_TIMER, Flag.NONE, b"")
        case SendAck(ack):
            hop = dialog.first_hop
            send_ack(tx, dialog.conversation, dialog.parties, ack, dialog.unheard, hop)
        case SendError(number, to_broker, attempt):
            parties = Parties(
                dialog.far_service,
                to_broker,
                dialog.service,
                dialog.broker_id,
                dialog.contract,
                dialog.is_initiator,
            )
            send_error(tx, dialog.conversation, parties, number, attempt)
        case Report():
            tx.tell(
                effect.kind,
                conversation=dialog.conversation,
                database=dialog.database,
                subclass=effect.subclass,
                error=effect.error,
                header=effect.header,
                attempt=effect.attempt,
                # 124 is about the endpoint; 149 and 160 are about a frame of its peer.
                from_initiator=dialog.is_initiator is (effect.kind is EventKind.CONVERSATION),
                from_broker=effect.from_broker,
                state=dialog.state.name,
            )


def send_ack(
    tx: Transaction,
    conversation: uuid.UUID,
    parties: Parties,
    ack: Ack,
    attempt: int,
    first_hop: int,
) -> None:
    """Send an acknowledgement frame to the other side of ``parties``."""
    tx.frames.append(OutFrame(conversation, parties, _journey(tx, attempt, first_hop), ack=ack))


def send_error(
    tx: Transaction, conversation: uuid.UUID, parties: Parties, number: Number, attempt: int
) -> None:
    """Send an unsequenced broker Error (Code = -number)."""
    name = f"{number}:{parties.from_broker}:{parties.to_broker}:{attempt}"
    header = Header(
        uuid.uuid5(conversation, name),
        ERROR,
        0,
        tx.now,
        tx.now + tx.endpoint.limits.time_to_live,
        Flag.ERROR | Flag.UNSEQUENCED,
    )
    body = error_body(-number, text_of(number))
    tx.frames.append(OutFrame(conversation, parties, _journey(tx, attempt, 0), header, body))


def _transmit(tx: Transaction, dialog: Dialog, effect: Transmit) -> None:
    command = tx.command_at(effect.position)
    kind, flags, body = _said(command)
    if effect.fragments > 1:  # by their number alone, so that every attempt cuts alike
        size = -(-len(body) // effect.fragments)
        body = body[effect.fragment * size : (effect.fragment + 1) * size]
    header = Header(
        command.message_id(dialog.conversation),
        kind,
        effect.sequence,
        command.stored_at,
        dialog.expires_at,
        flags,
        effect.fragment,
        effect.fragments,
    )
    journey = _journey(tx, effect.attempt, dialog.first_hop)
    tx.frames.append(OutFrame(dialog.conversation, dialog.parties, journey, header, body))


def _said(command: Command) -> tuple[str, Flag, bytes]:
    """Return type, flags and body of the message that a command sends."""
    if command.kind is not CommandKind.END:
        return command.type or DEFAULT, Flag.NONE, command.body or b""
    if command.error_code is None:
        return END_DIALOG, Flag.END, b""
    body = error_body(command.error_code, command.error_text or "")
    return ERROR, Flag.ERROR | Flag.SKIPS, body


def _enqueue(
    tx: Transaction, dialog: Dialog, header: Header, body: bytes, journey: Journey | None
) -> None:
    service = tx.endpoint.service(dialog.database, dialog.service)
    if service is None:
        return
    visit = (f"{tx.endpoint.instance}/{dialog.database}", tx.now)
    if journey is None:
        travelled = Journey(0, tx.now, 0, tx.now, 0, (visit,))
    else:
        travelled = Journey(
            journey.hops_remaining,
            journey.expires_at,
            journey.attempt,
            journey.sent_at,
            journey.first_hop,
            (*journey.path, visit),
        )
    parties = Parties(
        dialog.service,
        dialog.broker_id,
        dialog.far_service,
        dialog.far_broker or "",
        dialog.contract,
        not dialog.is_initiator,
        dialog.confirmed,
    )
    taken = tx.own if dialog.service == SYSTEM_SERVICE else tx.queued
    taken.append(
        QueueMessage(
            dialog.database,
            service.queue,
            dialog.group,
            dialog.conversation,
            parties,
            header,
            travelled,
            body,
            dialog.priority,
        )
    )


def _enqueue_own(
    tx: Transaction, dialog: Dialog, name: str, kind: str, flags: Flag, body: bytes
) -> None:
    """Enqueue a message that this broker made itself; it has no number in the dialog."""
    identity = uuid.uuid5(dialog.handle, name)
    header = Header(identity, kind, 0, tx.now, dialog.expires_at, flags | Flag.UNSEQUENCED)
    _enqueue(tx, dialog, header, body, None)


def _journey(tx: Transaction, attempt: int, first_hop: int) -> Journey:
    limits = tx.endpoint.limits
    return _begun(limits.hops, tx.now + limits.time_to_live, attempt, tx.now, first_hop)


_begun = lru_cache(4096)(Journey)
"""What is sent in one transaction has few different journeys before it."""
