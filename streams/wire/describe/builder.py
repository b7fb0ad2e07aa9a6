"""Build the description of one record: decoded parts, and errors."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from streams.wire.describe.raw_record import RawRecord
from streams.wire.evolution import ADMITS, ANNOUNCED
from streams.wire.plain import body_of, plain, text_of_bytes
from streams.wire.records import (
    COMMAND,
    CONVERSATION,
    HOP,
    MESSAGE,
    ORIGIN,
    ROUTE,
    conversation_of,
    header_of,
)
from streams.wire.single_object import MalformedError

Description = dict[str, Any]

_BROKEN = (MalformedError, ValueError, KeyError, TypeError, OverflowError, RecursionError)
_OURS = frozenset({ROUTE, MESSAGE, HOP, COMMAND, ORIGIN, CONVERSATION, ANNOUNCED, ADMITS})


class DescriptionBuilder:
    """The description of a record so far."""

    def __init__(self, record: RawRecord) -> None:
        self.record = record
        self.malformed = [record.unreadable] if record.unreadable else []
        self.out: Description = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "at": record.timestamp,
            "kind": None,
            "key": text_of_bytes(record.key),
            "conversation": None,
        }

    def take(self, name: str, decode: Callable[[], Any]) -> Any:
        """Store a decoder's result under a name, or its error under ``malformed``."""
        try:
            value = decode()
            self.out[name] = plain(value)
        except _BROKEN as error:
            kind = "" if isinstance(error, MalformedError) else f"{name}: {type(error).__name__}: "
            self.malformed.append(f"{kind}{error}")
            return None
        return value

    def header(self, name: str) -> bytes | None:
        """Return a header's bytes."""
        return header_of(self.record.headers, name)

    def kept_value(self) -> bytes | None:
        """Return the value; without a value, describe the record as a tombstone."""
        if self.record.value is None:
            self.out["removed"] = True
        return self.record.value

    def conversation_key(self) -> uuid.UUID | None:
        """Store the conversation id that the key contains, and return it."""
        try:
            conversation = conversation_of(self.record.key)
        except MalformedError as error:
            self.malformed.append(str(error))
            return None
        self.out["conversation"] = str(conversation)
        return conversation

    def finish(self) -> Description:
        """Return the description, including headers that Hopline does not know."""
        others = {n: text_of_bytes(v) for n, v in self.record.headers if n not in _OURS}
        if others:
            self.out["headers"] = others
        if self.malformed:
            self.out["malformed"] = self.malformed
            if "body" not in self.out:
                self.out["body"] = body_of(self.record.value)
        return self.out
