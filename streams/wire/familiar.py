"""Decode dialog records by comparison with earlier ones: much faster than field by field.

The records of idle dialogs differ in four fields in the middle: group, handle, and two times. The
bytes before these fields (names, state) and after them (numbers) repeat, so a decoded dialog serves
as the pattern for all records that share these bytes. This is safe because equal Avro bytes decode
to equal values.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress

from streams.protocol import Dialog
from streams.wire.bounds import SHORT
from streams.wire.single_object import PREFIX_LENGTH, Codec, read_long

PATTERNS = 2_000
"""Maximum number of cached patterns."""
_TEXT = b"\x48"
"""Avro length prefix of a text of 36 bytes."""
_IDS = 2 * (1 + 36)
"""The size in bytes of two GUIDs as text."""
_LENGTHS, _MISSES = 64, 4
"""Maximum number of offsets at which ids are expected, and of patterns to look up for a record.

Both are limited because clients choose names, and thus the offsets and the bytes that look like
ids.
"""
_LONGEST = 9
"""Maximum size in bytes of a number; up to 63 bits, this decoder and Avro read the same value."""


class Familiar:
    """Decode dialogs written with ``codec``; ``decode`` decodes other forms field by field.

    Threads may share an object: offsets are replaced, not changed. If another thread removes an
    offset or a pattern in the meantime, it is learned again.
    """

    def __init__(self, codec: Codec, decode: Callable[[bytes, uuid.UUID], Dialog]) -> None:
        self._prefix, self._decode = codec.prefix, decode
        self._lengths: tuple[int, ...] = ()
        """The known offsets of the ids; the offset that was found last is first."""
        self._patterns: dict[tuple[bytes, bytes], Dialog] = {}

    def read(self, raw: bytes, conversation: uuid.UUID) -> Dialog:
        """Return the dialog in a record; raise the errors of ``decode``."""
        misses, lengths = 0, self._lengths
        for number, at in enumerate(lengths):
            if raw[at : at + 1] == _TEXT == raw[at + 37 : at + 38]:
                try:
                    found = self._find(raw, at)
                except ValueError:
                    break  # the slow path reports an invalid GUID or number
                if found is not None:
                    if number:
                        self._lengths = at, *lengths[:number], *lengths[number + 1 :]
                    found.conversation = conversation
                    return found
                misses += 1
                if misses == _MISSES:
                    break
        dialog = self._decode(raw, conversation)
        if raw[:PREFIX_LENGTH] == self._prefix:
            with suppress(ValueError):
                self._learn(raw, dialog)
        return dialog

    def _find(self, raw: bytes, at: int) -> Dialog | None:
        """Return a record's dialog if the record fits a pattern; its ids are at offset ``at``."""
        created_at, end = read_long(raw, at + _IDS, _LONGEST)
        expires_at, end = read_long(raw, end, _LONGEST)
        pattern = self._patterns.get((raw[:at], raw[end:]))
        if pattern is None:
            return None
        made = pattern.copy()
        made.group = uuid.UUID(raw[at + 1 : at + 37].decode("ascii"))
        made.handle = uuid.UUID(raw[at + 38 : at + _IDS].decode("ascii"))
        made.created_at, made.expires_at = created_at, expires_at
        return made

    def _learn(self, raw: bytes, dialog: Dialog) -> None:
        if len(raw) > SHORT or dialog.held or dialog.partial or dialog.parked:
            return  # positions never recur, and a window of positions takes 200 kB
        ids = b"".join(_TEXT + str(guid).encode() for guid in (dialog.group, dialog.handle))
        at = raw.find(ids)
        if at < 0 or at != raw.rfind(ids):
            return  # GUIDs in upper case, or a name that contains both ids
        if len(self._patterns) >= PATTERNS or len(self._lengths) >= _LENGTHS:
            self._patterns, self._lengths = {}, ()
        _, end = read_long(raw, at + _IDS, _LONGEST)
        _, end = read_long(raw, end, _LONGEST)
        if at not in self._lengths:
            self._lengths = *self._lengths, at
        self._patterns[raw[:at], raw[end:]] = dialog.copy()
