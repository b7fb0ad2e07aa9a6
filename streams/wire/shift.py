"""Convert the expiries of a copy to the clock of another Kafka cluster.

Workers use the clock of their own cluster (:mod:`streams.node.liveness.kafka_clock`), so two
expiries must be converted for another cluster: the end of a copy's time to live, and the end of its
dialog's lifetime. Past times (when the message was enqueued and sent, and the path) stay unchanged.

Both expiries are at known places: the first is a field at a fixed offset, and the second is the
last number in its header. Headers of any other form are decoded and encoded. Invalid headers are
passed on, because their reader reports them.
"""

from __future__ import annotations

from functools import lru_cache

from streams.times import LATEST
from streams.wire.frame_headers import (
    MESSAGE_CODEC,
    decode_header,
    decode_journey,
    encode_header,
    encode_journey,
)
from streams.wire.hop import EXPIRES, EXPIRES_END, in_place, instant
from streams.wire.packing import base128
from streams.wire.records import HOP, MESSAGE, Headers
from streams.wire.single_object import MalformedError

_REMEMBERED = 1 << 12
_SHORTEST = len(MESSAGE_CODEC.prefix) + 17
"""Minimum size in bytes of ``sb-message``: the prefix, the message id, and a number after it."""
_SHORT = 1_024
"""Maximum size in bytes of a header that is shifted in place or cached."""


def shifted(headers: Headers, by: int) -> Headers:
    """Return an envelope's headers with every expiry shifted by ``by`` milliseconds."""
    return [(name, _shifted(name, raw, by)) for name, raw in headers] if by else headers


def _shifted(name: str, raw: bytes | None, by: int) -> bytes | None:
    if raw is None or name not in (HOP, MESSAGE):
        return raw
    try:
        if name == HOP:
            return (_short_hop if len(raw) <= _SHORT else _hop)(raw, by)
        return _message(raw, by)
    except (MalformedError, ValueError):  # the largest value is the limit
        return raw


def _hop(raw: bytes, by: int) -> bytes:
    if not in_place(raw):
        journey = decode_journey(raw)
        return encode_journey(journey._replace(expires_at=_bounded(journey.expires_at + by)))
    at = int.from_bytes(raw[EXPIRES:EXPIRES_END], "big")
    return b"%b%b%b" % (raw[:EXPIRES], instant(_bounded(at + by)), raw[EXPIRES_END:])


# All frames of one transaction share this header.
_short_hop = lru_cache(_REMEMBERED)(_hop)


def _message(raw: bytes, by: int) -> bytes:
    is_short = raw.startswith(MESSAGE_CODEC.prefix) and _SHORTEST <= len(raw) <= _SHORT
    if not is_short or raw[-1] > 0x7F:
        header = decode_header(raw)
        at = _bounded(header.dialog_expires_at + by)
        return encode_header(header._replace(dialog_expires_at=at))
    begin = len(raw) - 1
    while raw[begin - 1] > 0x7F:  # only the last byte of a number is below 0x80
        begin -= 1
    zigzag = 0
    for byte in raw[: begin - 1 : -1]:
        zigzag = zigzag << 7 | byte & 0x7F
    return raw[:begin] + base128(_bounded(((zigzag >> 1) ^ -(zigzag & 1)) + by) << 1)


def _bounded(at: int) -> int:
    return min(max(at, 0), LATEST)
