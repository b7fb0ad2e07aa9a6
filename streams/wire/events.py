"""The values of ``event``: SQL Server's trace events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from streams.errors import Event
from streams.protocol import Header
from streams.schema import load
from streams.wire.bounds import LARGEST_EVENT
from streams.wire.packing import pack_int, pack_long
from streams.wire.single_object import Codec

EVENT = Codec("Event", largest=LARGEST_EVENT)

_EVENT_DEFAULTS = tuple(field.get("default") for field in load("Event")["fields"])
_EVENT_LONGS = tuple("long" in field["type"] for field in load("Event")["fields"])
_CLIPPED = 1_000
"""Maximum length in characters to which the texts of an oversized event are truncated."""

_DIALOG, _NUMBER, _FRAGMENT = map(EVENT.names.index, ("conversation", "sequence", "fragment"))
_BETWEEN = (0, _DIALOG), (_DIALOG + 1, _NUMBER), (_NUMBER + 2, _FRAGMENT), (_FRAGMENT + 1, None)
"""The fields between ``conversation``, ``sequence`` with ``message_id``, and ``fragment``."""
_PARTS = tuple((slice(*between), EVENT.packer(*between)) for between in _BETWEEN)


def encode_event(event: Mapping[str, Any]) -> bytes:
    """Encode a value of ``event`` from its fields; missing fields get their defaults.

    An event is always written; values that do not fit are truncated.
    """
    try:
        packed = EVENT.pack(map(event.get, EVENT.names, _EVENT_DEFAULTS))
    except ValueError:
        packed = b""
    if 0 < len(packed) <= LARGEST_EVENT:
        return packed
    return EVENT.pack(map(_clipped, map(event.get, EVENT.names, _EVENT_DEFAULTS), _EVENT_LONGS))


class SimilarEvents:
    """Encode events that differ from ``event`` only in the message to which they refer.

    :meth:`encode` takes a third of the time of :func:`encode_event`. The constructor raises
    ValueError for an event that :func:`encode_event` might truncate. ``size`` is the number of
    bytes of the parts that the events share.
    """

    def __init__(self, event: Event) -> None:
        values = [*map(event.get, EVENT.names, _EVENT_DEFAULTS)]
        parts = [pack(values[part]) for part, pack in _PARTS]
        self.size = sum(map(len, parts))
        if self.size > LARGEST_EVENT // 2:
            raise ValueError("the event may be too large")
        self.event, self._parts = event, (EVENT.prefix + parts[0], *parts[1:])

    def encode(self, key: bytes, header: Header) -> bytes:
        """Encode the event about a message; ``key``: its conversation id, in 36 characters."""
        first, to_number, to_fragment, last = self._parts
        return b"%b\x02H%b%b\x02%b\x02H%b%b\x02%b%b" % (
            first,
            key,
            to_number,
            pack_long(header.sequence),
            str(header.message_id).encode(),
            to_fragment,
            pack_int(header.fragment),
            last,
        )


def _clipped(value: Any, is_long: bool) -> Any:
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode()
        return text if len(text) <= _CLIPPED else f"{text[:_CLIPPED]}..."
    if isinstance(value, int):
        most = 2**63 - 1 if is_long else 2**31 - 1
        return min(max(value, -most - 1), most)
    return value


def decode_event(raw: bytes | None) -> Event:
    """Decode a value of ``event``; raises MalformedError if it is invalid."""
    return cast(Event, EVENT.decode(raw))
