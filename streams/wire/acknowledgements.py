"""The values of ``ack``: acknowledgements, and statuses that the sender's forwarder writes."""

from __future__ import annotations

import uuid
from functools import lru_cache

from streams.errors import Number
from streams.protocol.frames import UNPROVOKED, Ack, Status
from streams.wire.bounds import LARGEST, LONGEST, SHORT
from streams.wire.single_object import Codec, MalformedError

ACK = Codec("Ack", longest=LONGEST, largest=SHORT)  # eight runs take less than 300 bytes
STATUS = Codec("Status", longest=LONGEST, largest=LARGEST)

_REMEMBERED = 4_096


def encode_ack(ack: Ack) -> bytes:
    """Encode the value of an acknowledgement frame."""
    held = [(s1, s2, f1, f2) for (s1, f1), (s2, f2) in ack.held] if ack.held else ()
    return ACK.pack(
        (
            ack.next_sequence,
            ack.highest_seen,
            held,
            ack.attempt,
            ack.first_hop,
            ack.sent_at,
            ack.next_fragment,
            ack.closed,
        )
    )


def encode_status(status: Status) -> bytes:
    """Encode a status that the local forwarder writes to ``ack``."""
    record = status._asdict()
    del record["conversation"]  # the conversation is in the key
    return STATUS.encode(record)


def decode_ack_value(raw: bytes | None, conversation: uuid.UUID) -> Ack | Status:
    """Decode a value of the ``ack`` topic; raises MalformedError if it is invalid."""
    if STATUS.knows(raw):
        return Status(conversation=conversation, **STATUS.decode(raw))
    return (_short_ack if raw is not None and len(raw) <= SHORT else _ack)(raw)


def _ack(raw: bytes | None) -> Ack:
    record = ACK.decode(raw)
    if record["highest_seen"] < record["next_sequence"] - 1:
        text = "Ack: the received range ends before the stored range (28007)"
        raise MalformedError(text, Number.SEEN_BEFORE_STORED)
    if record["attempt"] < UNPROVOKED:
        raise MalformedError("Ack: the number of the attempt is negative")
    record["held"] = tuple(
        ((run["first"], run["first_fragment"]), (run["last"], run["last_fragment"]))
        for run in record["held"]
    )
    return Ack(**record)


# Endpoints acknowledge many dialogs in one transaction, many of them at similar positions.
_short_ack = lru_cache(_REMEMBERED)(_ack)
