"""Turn the effects of a machine into records."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby
from typing import cast

from streams.errors import EventKind, Number, text_of
from streams.node.endpoint.outgoing import OutFrame, QueueMessage, error_body
from streams.node.endpoint.overlay import Overlay
from streams.protocol import (
    DEFAULT,
    DIALOG_TIMER,
    END_DIALOG,
    ERROR,
    Ack,
    Command,
    CommandKind,
    Dialog,
    DialogKey,
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
from streams.system_names import SYSTEM_SERVICES


def effects_to_records(
    tx: Overlay, key: DialogKey, dialog: Dialog, effects: Iterable[Effect]
) -> None:
    """Turn the effects of a dialog into records of the transaction.

    Most effects are messages, often several in a row.
    """
    for kind, run in groupby(effects, type):
        if kind is Transmit:
            tx.transmitted.add(key)
            _transmit(tx, dialog, cast(Iterable[Transmit], run))
        elif kind is Enqueue:
            _enqueue(tx, dialog, cast(Iterable[Enqueue], run))
        else:
            for effect in run:
                _perform(tx, dialog, effect)


def _perform(tx: Overlay, dialog: Dialog, effect: Effect) -> None:
    match effect:
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
            tx.emit_event(
                effect.kind,
                conversation=dialog.conversation,
                database=dialog.database,
                subclass=effect.subclass,
                error=effect.error,
                header=effect.header,
                journey=effect.journey,
                attempt=effect.attempt,
                # Event 124 is about the endpoint; 149 and 160 are about a frame of its peer.
                from_initiator=dialog.is_initiator is (effect.kind is EventKind.CONVERSATION),
                from_broker=effect.from_broker,
                state=dialog.state.name,
            )


def send_ack(
    tx: Overlay,
    conversation: uuid.UUID,
    parties: Parties,
    ack: Ack,
    attempt: int,
    first_hop: int,
) -> None:
    """Send an acknowledgement frame to the other side of ``parties``."""
    tx.frames.append(OutFrame(conversation, parties, _journey(tx, attempt, first_hop), ack=ack))


def send_error(
    tx: Overlay, conversation: uuid.UUID, parties: Parties, number: Number, attempt: int
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


def _transmit(tx: Overlay, dialog: Dialog, effects: Iterable[Transmit]) -> None:
    conversation, parties, ends_at = dialog.conversation, dialog.parties, dialog.expires_at
    for sequence, position, attempt, fragment, fragments in effects:
        command = tx.command_at(position)
        kind, flags, body = _said(command)
        if fragments > 1:  # split by number alone, so that every attempt is split in the same way
            size = -(-len(body) // fragments)
            body = body[fragment * size : (fragment + 1) * size]
        message_id, stored_at = command.message_id(conversation), command.stored_at
        header = Header(message_id, kind, sequence, stored_at, ends_at, flags, fragment, fragments)
        journey = _journey(tx, attempt, dialog.first_hop)
        tx.frames.append(OutFrame(conversation, parties, journey, header, body))


def _said(command: Command) -> tuple[str, Flag, bytes]:
    """Return the type, flags and body of a command's message."""
    if command.kind is not CommandKind.END:
        return command.type or DEFAULT, Flag.NONE, command.body or b""
    if command.error_code is None:
        return END_DIALOG, Flag.END, b""
    body = error_body(command.error_code, command.error_text or "")
    return ERROR, Flag.ERROR | Flag.SKIPS, body


def _enqueue(tx: Overlay, dialog: Dialog, effects: Iterable[Enqueue]) -> None:
    service = tx.endpoint.service(dialog.database, dialog.service)
    if service is None:
        return
    taken = tx.own if dialog.service in SYSTEM_SERVICES else tx.queued
    visit = (f"{tx.endpoint.instance}/{dialog.database}", tx.now)
    parties = Parties(
        dialog.service,
        dialog.broker_id,
        dialog.far_service,
        dialog.far_broker or "",
        dialog.contract,
        not dialog.is_initiator,
        dialog.confirmed,
    )
    about = dialog.database, service.queue, dialog.group, dialog.conversation, parties
    for header, body, journey in effects:
        known = journey is None or journey.is_short
        arrived = (_arrived if known else _with_visit)(journey, visit)
        taken.append(QueueMessage(*about, header, arrived, body, dialog.priority))


def _with_visit(journey: Journey | None, visit: tuple[str, int]) -> Journey:
    """Return a journey with its last visit; a locally created message has only that visit."""
    if journey is None:
        return Journey(0, visit[1], 0, visit[1], 0, (visit,))
    return journey._replace(path=(*journey.path, visit))


_arrived = lru_cache(64)(_with_visit)  # small: a sender can choose journeys with equal hashes


def _enqueue_own(
    tx: Overlay, dialog: Dialog, name: str, kind: str, flags: Flag, body: bytes
) -> None:
    """Enqueue a message that this broker has created; it has no number in the dialog."""
    identity = uuid.uuid5(dialog.handle, name)
    header = Header(identity, kind, 0, tx.now, dialog.expires_at, flags | Flag.UNSEQUENCED)
    _enqueue(tx, dialog, (Enqueue(header, body, None),))


def _journey(tx: Overlay, attempt: int, first_hop: int) -> Journey:
    limits = tx.endpoint.limits
    return _begun(limits.hops, tx.now + limits.time_to_live, attempt, tx.now, first_hop)


_begun = lru_cache(4096)(Journey)
"""Create a journey; cached, because the messages of a transaction have few different journeys."""
