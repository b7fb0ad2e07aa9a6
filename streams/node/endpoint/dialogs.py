"""The dialogs of a partition: recent ones as values, idle ones as records."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

from streams.protocol import Dialog, DialogKey

Unpack = Callable[[bytes, uuid.UUID, Mapping[int, bytes]], Dialog]
"""Decodes a dialog from its state record, and its chunks from theirs."""

AWAKE = 10_000
"""How many dialogs are kept as values, which take ten times as much memory as records."""

OneChunk = tuple[int, bytes]
"""Number and record of a dialog's only chunk: a dictionary takes four times as much."""


class Dialogs(Mapping[DialogKey, Dialog]):
    """Dialogs by key. Idle ones are kept as the bytes of their state records.

    A record is decoded on access. Without ``unpack``, or without a written record, a dialog stays a
    value. ``last_copy`` is the default for dialogs whose last copy is unknown: it is not in the
    record.
    """

    def __init__(self, unpack: Unpack | None = None, awake: int = AWAKE) -> None:
        self.last_copy = -1
        self._unpack, self._limit = unpack, awake
        self._awake: OrderedDict[DialogKey, Dialog] = OrderedDict()
        self._records: dict[DialogKey, bytes | None] = {}
        self._names: dict[DialogKey, DialogKey] = {}
        self._chunks: dict[DialogKey, OneChunk | dict[int, bytes]] = {}
        self._copies: dict[DialogKey, int] = {}

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[DialogKey]:
        return iter(self._records)

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def __getitem__(self, key: DialogKey) -> Dialog:
        dialog = self._awake.get(key)
        if dialog is None:
            dialog = self._read(key, self._records[key])
            self._keep(self.name(key), dialog)
        return dialog

    def get(self, key: DialogKey, default: Dialog | None = None) -> Dialog | None:  # type: ignore[override]
        """Return a dialog, if it exists."""
        dialog = self._awake.get(key)
        if dialog is not None:
            return dialog
        return self[key] if key in self._records else default

    def look(self, key: DialogKey) -> Dialog | None:
        """Return a dialog for inspection, and keep it as a record if it is one."""
        dialog = self._awake.get(key)
        if dialog is None and key in self._records:
            dialog = self._read(key, self._records[key])
        return dialog

    def name(self, key: DialogKey) -> DialogKey:
        """Return the single key object to keep for a dialog.

        Each decoded record has another one, as large as what is stored under it.
        """
        return self._names.setdefault(key, key)

    def put(self, key: DialogKey, dialog: Dialog, record: bytes | None = None) -> None:
        """Store a changed dialog with its state record."""
        self._records[key] = record
        self._keep(key, dialog)

    def load(self, key: DialogKey, record: bytes) -> Dialog:
        """Store a record; return the decoded dialog, but keep only the bytes."""
        self._awake.pop(key, None)
        self._records[key] = record
        return self._read(key, record)

    def put_chunk(self, key: DialogKey, number: int, chunk: bytes | None) -> None:
        """Store a chunk's record; ``None`` removes it."""
        key = self._names.get(key, key)
        chunks = self._chunks_of(key)
        if chunk is not None:
            chunks[number] = chunk
        else:
            chunks.pop(number, None)
        if len(chunks) > 1:
            self._chunks[key] = chunks
        elif chunks:
            self._chunks[key] = next(iter(chunks.items()))
        else:
            self._chunks.pop(key, None)

    def _chunks_of(self, key: DialogKey) -> dict[int, bytes]:
        found = self._chunks.get(key, {})
        return dict((found,)) if isinstance(found, tuple) else found

    def forget(self, key: DialogKey) -> Dialog | None:
        """Remove a dialog; return it, if it existed."""
        dialog = self.get(key)
        self._records.pop(key, None)
        self._names.pop(key, None)
        self._awake.pop(key, None)
        self._chunks.pop(key, None)
        self._copies.pop(key, None)
        return dialog

    def _read(self, key: DialogKey, record: bytes | None) -> Dialog:
        assert record is not None and self._unpack is not None
        dialog = self._unpack(record, key[1], self._chunks_of(key))
        dialog.last_copy = self._copies.get(key, self.last_copy)
        return dialog

    def _keep(self, key: DialogKey, dialog: Dialog) -> None:
        self._awake[key] = dialog
        self._awake.move_to_end(key)
        if len(self._awake) > self._limit and self._unpack is not None:
            oldest, dialog = self._awake.popitem(last=False)
            if self._records[oldest] is None:
                self._awake[oldest] = dialog
            elif dialog.last_copy > self.last_copy:
                self._copies[oldest] = dialog.last_copy
