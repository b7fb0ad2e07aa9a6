"""Positions of accepted messages in ``cmd``, stored compactly."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

CHUNK = 64
"""Messages per chunk. Each chunk is a separate record in the state."""

Stored = tuple[int, int]
"""Position of a message's command in ``cmd``, and its number of fragments."""


class Chunk:
    """The positions in ``cmd`` of up to 64 messages, with their fragment counts unless all are 1.

    Each message takes eight bytes. Stored as tuples, a million waiting messages would take 100 MB.
    """

    __slots__ = ("fragments", "positions")

    def __init__(self, positions: Iterable[int] = (), fragments: Iterable[int] = ()) -> None:
        self.positions, self.fragments = array("q", positions), array("i", fragments)

    @classmethod
    def of(cls, stored: Iterable[Stored]) -> Chunk:
        """Return a chunk that contains these messages."""
        made = cls()
        for position, fragments in stored:
            made.append(position, fragments)
        return made

    def append(self, position: int, fragments: int) -> None:
        """Add a message."""
        if self.fragments or fragments != 1:
            if not self.fragments:
                self.fragments.extend([1] * len(self.positions))
            self.fragments.append(fragments)
        self.positions.append(position)

    def copy(self) -> Chunk:
        """Return a mutable copy."""
        return Chunk(self.positions, self.fragments)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, at: int) -> Stored:
        return self.positions[at], self.fragments[at] if self.fragments else 1

    def __iter__(self) -> Iterator[Stored]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Chunk) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Chunk({list(self)})"
