"""The dialogs of a partition: those that were touched lately, and the records of all others."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

from streams.protocol import Dialog, DialogKey

Unpack = Callable[[bytes, uuid.UUID, Mapping[int, bytes]], Dialog]
"""Read the dialog of a conversation from its state record, and its chunks from theirs."""

AWAKE = 4_000
"""So many dialogs are kept as values: as many as a transaction has where each has one message. A
value takes ten times as much memory as its record."""

Chunks = tuple[int, bytes] | dict[int, bytes] | None
"""Records of a dialog's chunks by number. Of the only one it is number and record: a dictionary of
one takes four times as much."""


class _Kept:
    """What is kept of a dialog, in one object: a dictionary more would take 50 bytes a dialog.

    ``key`` is the one object that stands for its key, ``record`` its state record, if it was
    written, ``last_copy`` what the record does not say.
    """

    __slots__ = ("chunks", "key", "last_copy", "record")

    def __init__(self, key: DialogKey, chunks: Chunks, last_copy: int) -> None:
        self.key, self.chunks, self.last_copy = key, chunks, last_copy
        self.record: bytes | None = None


class Dialogs(Mapping[DialogKey, Dialog]):
    """Dialogs by key. What is idle is kept as the bytes of its state record.

    A record that is asked for becomes a value again. Without ``unpack``, and without a record that
    was written, a dialog is kept as a value. ``last_copy`` is what is said of a dialog of which it
    is not known: it is not in the record.
    """

    def __init__(self, unpack: Unpack | None = None, awake: int = AWAKE) -> None:
        self.last_copy = -1
        self._unpack, self._limit = unpack, awake
        self._awake: OrderedDict[DialogKey, Dialog] = OrderedDict()
        self._kept: dict[DialogKey, _Kept] = {}
        self._early: dict[DialogKey, tuple[int, bytes] | dict[int, bytes]] = {}
        """Chunks whose dialog was not read yet."""

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[DialogKey]:
        return iter(self._kept)

    def __contains__(self, key: object) -> bool:
        return key in self._kept

    def __getitem__(self, key: DialogKey) -> Dialog:
        dialog = self._awake.get(key)
        if dialog is None:
            kept = self._kept[key]
            dialog = self._read(kept)
            self._keep_awake(kept.key, dialog)
        return dialog

    def get(self, key: DialogKey, default: Dialog | None = None) -> Dialog | None:  # type: ignore[override]
        """Return a dialog, if it is there."""
        dialog = self._awake.get(key)
        if dialog is not None:
            return dialog
        return self[key] if key in self._kept else default

    def look(self, key: DialogKey) -> Dialog | None:
        """Return a dialog, if it is there, and let it sleep if it does: it is only looked at."""
        dialog = self._awake.get(key)
        if dialog is None and key in self._kept:
            dialog = self._read(self._kept[key])
        return dialog

    def name(self, key: DialogKey) -> DialogKey:
        """Return the one object that is to stand for a dialog's key where it is kept.

        Each record that is read makes another one, which is as large as what is kept under it.
        """
        kept = self._kept.get(key)
        return key if kept is None else kept.key

    def put(self, key: DialogKey, dialog: Dialog, record: bytes | None = None) -> None:
        """Take over a dialog that was touched, and the record that was written of it."""
        kept = self._of(key)
        kept.record = record
        self._keep_awake(kept.key, dialog)

    def load(self, key: DialogKey, record: bytes) -> Dialog:
        """Take over a record that was read; returns what it says, and keeps the bytes only."""
        self._awake.pop(key, None)
        kept = self._of(key)
        kept.record = record
        return self._read(kept)

    def put_chunk(self, key: DialogKey, number: int, chunk: bytes | None) -> None:
        """Take over a chunk's record; ``None``: there is none any more."""
        kept = self._kept.get(key)
        chunks = _by_number(self._early.pop(key, None) if kept is None else kept.chunks)
        if chunk is not None:
            chunks[number] = chunk
        else:
            chunks.pop(number, None)
        packed = next(iter(chunks.items())) if len(chunks) == 1 else chunks or None
        if kept is not None:
            kept.chunks = packed
        elif packed is not None:
            self._early[key] = packed

    def forget(self, key: DialogKey) -> Dialog | None:
        """Drop a dialog; returns it, if it was there."""
        dialog = self.get(key)
        self._kept.pop(key, None)
        self._awake.pop(key, None)
        return dialog

    def _of(self, key: DialogKey) -> _Kept:
        kept = self._kept.get(key)
        if kept is None:
            kept = _Kept(key, self._early.pop(key, None), self.last_copy)
            self._kept[key] = kept
        return kept

    def _read(self, kept: _Kept) -> Dialog:
        assert kept.record is not None and self._unpack is not None
        dialog = self._unpack(kept.record, kept.key[1], _by_number(kept.chunks))
        dialog.last_copy = max(kept.last_copy, self.last_copy)
        return dialog

    def _keep_awake(self, key: DialogKey, dialog: Dialog) -> None:
        self._awake[key] = dialog
        self._awake.move_to_end(key)
        if len(self._awake) > self._limit and self._unpack is not None:
            oldest, dialog = self._awake.popitem(last=False)
            kept = self._kept[oldest]
            if kept.record is None:
                self._awake[oldest] = dialog
            else:
                kept.last_copy = dialog.last_copy


def _by_number(chunks: Chunks) -> dict[int, bytes]:
    if chunks is None:
        return {}
    return dict((chunks,)) if isinstance(chunks, tuple) else chunks
