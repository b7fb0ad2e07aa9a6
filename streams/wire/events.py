"""The values of ``event``: SQL Server's trace events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from streams.errors import Event
from streams.schema import load
from streams.wire.single_object import Codec

EVENT = Codec("Event")

_EVENT_DEFAULTS = tuple(field.get("default") for field in load("Event")["fields"])
_EVENT_LONGS = tuple("long" in field["type"] for field in load("Event")["fields"])
_LARGEST_EVENT, _CLIPPED = 65_536, 1_000
"""Bytes above which an event's texts are truncated, and the remaining characters of each."""


def encode_event(event: Mapping[str, Any]) -> bytes:
    """Encode a value of ``event`` from its fields; missing fields get their defaults.

    An event is always written; values that do not fit are truncated.
    """
    try:
        packed = EVENT.pack(map(event.get, EVENT.names, _EVENT_DEFAULTS))
    except ValueError:
        packed = b""
    if 0 < len(packed) <= _LARGEST_EVENT:
        return packed
    return EVENT.pack(map(_clipped, map(event.get, EVENT.names, _EVENT_DEFAULTS), _EVENT_LONGS))


def _clipped(value: Any, is_long: bool) -> Any:
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode()
        return text if len(text) <= _CLIPPED else f"{text[:_CLIPPED]}..."
    if isinstance(value, int):
        most = 2**63 - 1 if is_long else 2**31 - 1
        return min(max(value, -most - 1), most)
    return value


def decode_event(raw: bytes | None) -> Event:
    """Decode a value of ``event``; raises MalformedError."""
    return cast(Event, EVENT.decode(raw))
