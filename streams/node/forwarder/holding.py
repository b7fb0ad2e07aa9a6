"""Buffer messages with an unreachable next hop in memory, within a budget and their time to live.

A forwarder has no durable storage (reference 5.1). A buffered message is only a copy, and if it is
lost, the sender retries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from streams.errors import Number

Item = TypeVar("Item")
HoldKey = tuple[object, ...]
LEAST = 256
"""Minimum number of bytes counted per body; a copy, with its record, takes 1 to 2 KB."""


ENVELOPE, HEADER = 2_048, 128
"""Bytes of headers that are not counted, and overhead per header in addition to name and value."""


def forward_size(body: int, headers: Sequence[tuple[str, bytes | None]] = ()) -> int:
    """Return the number of bytes of a copy that count towards MESSAGE_FORWARD_SIZE.

    Each body counts with a minimum size, because an EndDialog has no body, and many EndDialogs must
    not fill the memory. Headers, which any client may add, count only if they exceed the size of an
    envelope.
    """
    envelope = sum(HEADER + len(name) + len(value or b"") for name, value in headers)
    return max(body, LEAST) + max(0, envelope - ENVELOPE)


@dataclass(slots=True)
class Holding(Generic[Item]):
    """A bounded buffer of copies, oldest first; ``limit`` is MESSAGE_FORWARD_SIZE in bytes."""

    limit: int
    size: int = 0
    _items: dict[HoldKey, tuple[Item, int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, key: HoldKey, item: Item, size: int) -> Number | None:
        """Buffer a copy, or return the error with which it is dropped instead: 11288 or 11289."""
        if key in self._items:
            return Number.ALREADY_FORWARDING
        if self.size + size > self.limit:
            return Number.FORWARD_SIZE_EXCEEDED
        self._items[key] = (item, size)
        self.size += size
        return None

    def get(self, key: HoldKey) -> Item | None:
        """Return a buffered copy."""
        found = self._items.get(key)
        return None if found is None else found[0]

    def remove(self, key: HoldKey) -> Item:
        """Remove and return a copy."""
        item, size = self._items.pop(key)
        self.size -= size
        return item

    def items(self) -> Iterator[tuple[HoldKey, Item]]:
        """Iterate over a snapshot of the buffer."""
        return iter([(key, item) for key, (item, _) in self._items.items()])
