"""Between the values of :mod:`streams.protocol.frames` and their bytes."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from streams.protocol.frames import (
    Ack,
    Command,
    CommandKind,
    Flag,
    Header,
    Journey,
    Parties,
    Status,
)
from streams.wire.single_object import Codec, MalformedError, Record, UnknownSchemaError

ROUTE = Codec("Route")
MESSAGE = Codec("Message")
HOP = Codec("Hop")
ACK = Codec("Ack")
STATUS = Codec("Status")
COMMAND = Codec("Command")
RESULT = Codec("Result")
EVENT = Codec("Event")
PRESENCE = Codec("Presence")
CATALOG_OBJECT = Codec("CatalogObject")

_KNOWN_FLAGS = int(Flag.END | Flag.ERROR | Flag.UNSEQUENCED | Flag.SKIPS)


def encode_parties(parties: Parties) -> bytes:
    """Encode ``sb-route``."""
    return ROUTE.encode(
        {
            "to_service": parties.to_service,
            "to_broker": parties.to_broker,
            "from_service": parties.from_service,
            "from_broker": parties.from_broker,
            "contract": parties.contract,
            "from_initiator": parties.from_initiator,
            "locked": parties.locked,
        }
    )


def decode_parties(raw: bytes | None) -> Parties:
    """Decode ``sb-route``; raises MalformedError."""
    return Parties(**ROUTE.decode(raw))


def encode_header(header: Header) -> bytes:
    """Encode ``sb-message``."""
    return MESSAGE.encode(
        {
            "message_id": header.message_id.bytes,
            "type": header.type,
            "sequence": header.sequence,
            "fragment": header.fragment,
            "fragments": header.fragments,
            "flags": int(header.flags),
            "enqueued_at": header.enqueued_at,
            "dialog_expires_at": header.dialog_expires_at,
        }
    )


def decode_header(raw: bytes | None) -> Header:
    """Decode ``sb-message`` and hold it against the header rules of 4.3; raises MalformedError."""
    record = MESSAGE.decode(raw)
    flags = record["flags"]
    if flags & ~_KNOWN_FLAGS:
        raise MalformedError("Message: unknown flags (28001)")
    both = Flag.END | Flag.ERROR
    if flags & both == both:
        raise MalformedError("Message: 'end' and 'error' are both set (11275)")
    if flags & Flag.UNSEQUENCED and (record["sequence"] or flags & Flag.END):
        raise MalformedError("Message: unsequenced with a number or 'end' (11299, 11276)")
    if not 0 <= record["sequence"] < 2**62 or not 0 <= record["fragment"] < record["fragments"]:
        raise MalformedError("Message: sequence or fragment number out of bounds (11274)")
    record["message_id"] = uuid.UUID(bytes=record["message_id"])
    record["flags"] = Flag(flags)
    return Header(**record)


def encode_journey(journey: Journey) -> bytes:
    """Encode ``sb-hop``; forwarders then edit it in place (:mod:`streams.wire.hop`)."""
    return HOP.encode(
        {
            "hops_remaining": journey.hops_remaining,
            "expires_at": journey.expires_at.to_bytes(8, "big"),
            "attempt": journey.attempt,
            "sent_at": journey.sent_at.to_bytes(8, "big"),
            "first_hop": journey.first_hop,
            "path": [{"instance": name, "at": at} for name, at in journey.path],
        }
    )


def decode_journey(raw: bytes | None) -> Journey:
    """Decode ``sb-hop``; raises MalformedError."""
    record = HOP.decode(raw)
    return Journey(
        record["hops_remaining"],
        int.from_bytes(record["expires_at"], "big"),
        record["attempt"],
        int.from_bytes(record["sent_at"], "big"),
        record["first_hop"],
        tuple((visit["instance"], visit["at"]) for visit in record["path"]),
    )


def encode_ack(ack: Ack) -> bytes:
    """Encode the value of an acknowledgement frame."""
    record: Record = {name: getattr(ack, name) for name in Ack.__slots__}
    record["held"] = [
        {"first": s1, "first_fragment": f1, "last": s2, "last_fragment": f2}
        for (s1, f1), (s2, f2) in ack.held
    ]
    return ACK.encode(record)


def encode_status(status: Status) -> bytes:
    """Encode what the local forwarder writes to ``ack``."""
    names = ("database", "from_initiator", "number", "attempt", "at", "service", "broker")
    return STATUS.encode({name: getattr(status, name) for name in names})


def decode_ack_value(raw: bytes | None, conversation: uuid.UUID) -> Ack | Status:
    """Decode a value of the ``ack`` topic; raises MalformedError."""
    if STATUS.knows(raw):
        return Status(conversation=conversation, **STATUS.decode(raw))
    record = ACK.decode(raw)
    if record["highest_seen"] < record["next_sequence"] - 1:
        raise MalformedError("Ack: what was seen ends before what is stored (28007)")
    record["held"] = tuple(
        ((run["first"], run["first_fragment"]), (run["last"], run["last_fragment"]))
        for run in record["held"]
    )
    return Ack(**record)


_NEWER_STATEMENT = "UNKNOWN"
_COMMAND_FIELDS = (
    "database",
    "from_initiator",
    "issued_at",
    "reply_to",
    "from_service",
    "to_service",
    "to_broker",
    "contract",
    "lifetime",
    "type",
    "error_code",
    "error_text",
    "cleanup",
    "timeout",
)


def encode_command(command: Command) -> bytes:
    """Encode ``sb-command``; the body is the record's value, the conversation id its key."""
    record: Record = {name: getattr(command, name) for name in _COMMAND_FIELDS}
    record["command_id"] = command.command_id.bytes
    record["kind"] = command.kind.value
    record["group"] = str(command.group) if command.group is not None else None
    record["related"] = str(command.related) if command.related is not None else None
    record["also"] = [str(conversation) for conversation in command.also]
    return COMMAND.encode(record)


def decode_command(
    raw: bytes | None, conversation: uuid.UUID, body: bytes | None, stored_at: int
) -> Command:
    """Decode ``sb-command``; raises MalformedError."""
    record = COMMAND.decode(raw)
    record["command_id"] = uuid.UUID(bytes=record["command_id"])
    if record["kind"] == _NEWER_STATEMENT:
        raise MalformedError("Command: a statement that this version does not know")
    record["kind"] = CommandKind(record["kind"])
    try:
        record["group"] = uuid.UUID(record["group"]) if record["group"] else None
        record["related"] = uuid.UUID(record["related"]) if record["related"] else None
        record["also"] = tuple(map(uuid.UUID, record["also"]))
    except ValueError as error:
        raise MalformedError(f"Command: a conversation or its group is no UUID: {error}") from error
    return Command(conversation=conversation, body=body, stored_at=stored_at, **record)


@dataclass(frozen=True, slots=True)
class ResultRecord:
    """The answer to a command: ``number`` 0, or the statement's error number."""

    command_id: uuid.UUID
    conversation: uuid.UUID
    number: int = 0
    text: str = ""


def encode_result(result: ResultRecord) -> bytes:
    """Encode a value of ``result``."""
    return RESULT.encode(
        {
            "command_id": result.command_id.bytes,
            "conversation": str(result.conversation),
            "number": result.number,
            "text": result.text,
        }
    )


def decode_result(raw: bytes | None) -> ResultRecord:
    """Decode a value of ``result``; raises MalformedError."""
    record = RESULT.decode(raw)
    try:
        conversation = uuid.UUID(record["conversation"])
    except ValueError as error:
        raise MalformedError(f"Result: the conversation is no UUID: {error}") from error
    return ResultRecord(
        uuid.UUID(bytes=record["command_id"]), conversation, record["number"], record["text"]
    )


def encode_event(event: Record) -> bytes:
    """Encode a value of ``event`` from its fields; those that are missing take their default."""
    return EVENT.encode(event)


def decode_event(raw: bytes | None) -> Record:
    """Decode a value of ``event``; raises MalformedError."""
    return EVENT.decode(raw)


def encode_presence(instance: str, replica: str, count: int, at: int) -> bytes:
    """Encode a sign of life."""
    return PRESENCE.encode({"instance": instance, "replica": replica, "count": count, "at": at})


def decode_presence(raw: bytes | None) -> Record:
    """Decode a sign of life; raises MalformedError."""
    return PRESENCE.decode(raw)


def encode_catalog_object(version: int, body: str) -> bytes:
    """Encode a value of ``catalog``; ``body`` is JSON."""
    return CATALOG_OBJECT.encode({"version": version, "body": body})


def decode_catalog_object(raw: bytes | None) -> tuple[int, str]:
    """Decode a value of ``catalog`` to (version, JSON); raises MalformedError."""
    record: dict[str, Any] = CATALOG_OBJECT.decode(raw)
    return record["version"], record["body"]


__all__ = [
    "ACK",
    "HOP",
    "MESSAGE",
    "ROUTE",
    "STATUS",
    "MalformedError",
    "ResultRecord",
    "UnknownSchemaError",
    "decode_ack_value",
    "decode_catalog_object",
    "decode_command",
    "decode_event",
    "decode_header",
    "decode_journey",
    "decode_parties",
    "decode_presence",
    "decode_result",
    "encode_ack",
    "encode_catalog_object",
    "encode_command",
    "encode_event",
    "encode_header",
    "encode_journey",
    "encode_parties",
    "encode_presence",
    "encode_result",
    "encode_status",
]
