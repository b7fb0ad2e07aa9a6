"""The dialogs of a partition: recent dialogs in decoded form, idle dialogs as records."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping

from streams.node.endpoint.oldest import Oldest
from streams.protocol import Dialog, DialogKey

Unpack = Callable[[bytes, uuid.UUID, Mapping[int, bytes]], Dialog]
"""Decodes a dialog from its state record and the records of its chunks."""

AWAKE = 6_000
"""Number of dialogs kept in decoded form, which takes ten times as much memory as records.

A transaction changes 4,000 dialogs if each of them has one message. If each has ten messages, 2,000
dialogs are in flight, and 2,000 others are acknowledged in the same time.
"""
AWAKE_BYTES = 2 << 20
"""Maximum total size in bytes of the records of the dialogs kept in decoded form. A dialog with a
full window of out-of-order fragments takes 200 kB in this form, and either side can cause this."""
DEEP = AWAKE_BYTES // 4
"""Minimum size in bytes of the records of a deep dialog, which has some 150,000 waiting messages.
One deep dialog stays decoded in addition to the others. Otherwise it would evict all others, and
they would evict it, in every transaction."""

Chunks = tuple[int, bytes] | dict[int, bytes] | None
"""Records of a dialog's chunks by number. A single chunk is stored as a tuple, because a
dictionary takes four times as much memory."""

Destination = tuple[str, str, str, str]
"""A service, the comparable form of a broker id ("" means any), and the sender's database and
service."""


class Kept:
    """A dialog as stored by a partition: its stored parts, and its position in each index.

    All parts are in a single object because each additional dictionary takes 50 bytes per dialog.
    Objects are compared by identity, which takes a tenth of the time of a comparison by key.
    ``key`` is the only object that represents the key; ``record`` is the state record, if one was
    written. The record does not contain ``last_copy``. ``awake``, which belongs to Dialogs, is the
    number of bytes counted while the dialog is kept in decoded form. ``due`` and ``entered`` belong
    to Timers, ``line`` and ``position`` to Oldest, ``in_flight`` and ``where`` to Flows.
    """

    __slots__ = (
        "awake", "chunks", "due", "entered", "in_flight", "key", "last_copy", "line", "position",
        "record", "where",
    )  # fmt: skip

    def __init__(self, key: DialogKey, chunks: Chunks = None, last_copy: int = -1) -> None:
        self.key, self.chunks, self.last_copy = key, chunks, last_copy
        self.record: bytes | None = None
        self.due: int | None = None
        self.entered: int | None = None
        self.line: Oldest[Kept] | None = None
        self.where: Destination | None = None
        self.awake = self.position = self.in_flight = 0

    def __lt__(self, other: Kept) -> bool:
        return self.key < other.key

    @property
    def size(self) -> int:
        """Return the number of bytes of the dialog's records."""
        size = len(self.record or b"")
        return size + sum(map(len, _by_number(self.chunks).values())) if self.chunks else size


class Dialogs(Mapping[DialogKey, Dialog]):
    """Dialogs by key. Idle dialogs are kept as the bytes of their state records.

    A record is decoded on access. A dialog stays decoded if there is no ``unpack``, or if no
    record has been written. ``last_copy`` is the default for dialogs whose last copy is unknown
    because the state record does not contain it.
    """

    def __init__(self, unpack: Unpack | None = None, awake: int = AWAKE) -> None:
        self.last_copy = -1
        self._unpack, self._limit = unpack, awake
        self._awake: OrderedDict[DialogKey, Dialog] = OrderedDict()
        self._awake_bytes = 0
        self._deep: Kept | None = None
        self._kept: dict[DialogKey, Kept] = {}
        self._early: dict[DialogKey, tuple[int, bytes] | dict[int, bytes]] = {}
        """Chunks whose dialog has not been read yet."""

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
            self._keep_awake(kept, dialog)
        return dialog

    def get(self, key: DialogKey, default: Dialog | None = None) -> Dialog | None:  # type: ignore[override]
        """Return a dialog, if it exists."""
        dialog = self._awake.get(key)
        if dialog is not None:
            return dialog
        return self[key] if key in self._kept else default

    def look(self, key: DialogKey) -> Dialog | None:
        """Return a dialog for inspection; a dialog that is stored as a record remains so."""
        dialog = self._awake.get(key)
        if dialog is None and key in self._kept:
            dialog = self._read(self._kept[key])
        return dialog

    def kept(self, key: DialogKey) -> Kept | None:
        """Return the ``Kept`` object of a dialog, if it exists; indices refer to such objects."""
        return self._kept.get(key)

    def all_kept(self) -> Iterable[Kept]:
        """Return the ``Kept`` objects of all dialogs."""
        return self._kept.values()

    def put(self, key: DialogKey, dialog: Dialog, record: bytes | None = None) -> Kept:
        """Store a changed dialog with its state record."""
        kept = self._of(key)
        kept.record = record
        self._keep_awake(kept, dialog)
        return kept

    def load(self, key: DialogKey, record: bytes) -> tuple[Kept, Dialog]:
        """Store a record; return the decoded dialog, but keep only the record's bytes."""
        kept = self._of(key)
        self._drop_awake(kept)
        kept.record = record
        return kept, self._read(kept)

    def put_chunk(self, key: DialogKey, number: int, chunk: bytes | None) -> None:
        """Store a chunk's record; ``None`` removes it."""
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
        """Remove a dialog; return it, if it existed."""
        dialog, kept = self.get(key), self._kept.pop(key, None)
        if kept is not None:
            self._drop_awake(kept)
        return dialog

    def _of(self, key: DialogKey) -> Kept:
        kept = self._kept.get(key)
        if kept is None:
            kept = Kept(key, self._early.pop(key, None), self.last_copy)
            self._kept[key] = kept
        return kept

    def _read(self, kept: Kept) -> Dialog:
        assert kept.record is not None and self._unpack is not None
        dialog = self._unpack(kept.record, kept.key[1], _by_number(kept.chunks))
        dialog.assume(max(kept.last_copy, self.last_copy))
        return dialog

    def _keep_awake(self, kept: Kept, dialog: Dialog) -> None:
        self._awake[kept.key] = dialog
        self._awake.move_to_end(kept.key)
        if self._unpack is None:
            return
        size = kept.size
        if size > DEEP:
            self._replace_deep(kept)
            size = 0  # a deep dialog is counted separately
        elif self._deep is kept:
            self._deep = None
        self._count(kept, size)
        while self._are_too_many:
            idle = self._kept[next(iter(self._awake))]
            if idle.record is None:
                self._awake.move_to_end(idle.key)
                break
            self._make_idle(idle)

    def _replace_deep(self, kept: Kept) -> None:
        """Replace the previous deep dialog with this one."""
        if self._deep is not None and self._deep is not kept:
            self._make_idle(self._deep)
        self._deep = kept

    def _make_idle(self, kept: Kept) -> None:
        """Keep only the records of a dialog."""
        kept.last_copy = self._awake[kept.key].last_copy
        self._drop_awake(kept)

    def _drop_awake(self, kept: Kept) -> None:
        """Drop the decoded form of a dialog."""
        self._awake.pop(kept.key, None)
        if self._deep is kept:
            self._deep = None
        self._count(kept, 0)

    @property
    def _are_too_many(self) -> bool:
        """Return whether to keep some dialog only as a record; a single dialog can be large."""
        awake = len(self._awake)
        return awake > self._limit or (self._awake_bytes > AWAKE_BYTES and awake > 1)

    def _count(self, kept: Kept, size: int) -> None:
        """Set the size in bytes counted for a dialog: 0 unless it is kept in decoded form."""
        self._awake_bytes += size - kept.awake
        kept.awake = size


def _by_number(chunks: Chunks) -> dict[int, bytes]:
    if chunks is None:
        return {}
    return dict((chunks,)) if isinstance(chunks, tuple) else chunks
