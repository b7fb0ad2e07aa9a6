"""The signs of life that a process gives: in the names of its forwarders and of its slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streams.node import LEFT

HEARTBEAT = 1.0
"""Seconds between two signs of life in one name."""

Write = Callable[[str, int], None]
"""Writes one sign: its name and its count."""


class Signs:
    """In which names signs are given, and when: once a second, and at once after a change.

    Any thread may change them; one gives them. Moments are monotonic, in seconds.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = dict.fromkeys(names)
        self._left: list[str] = []
        self._count = 0
        self._due_at = 0.0

    def speak_for(self, name: str) -> None:
        """Give them in one more name."""
        self._names[name] = None
        self.hurry()

    def leave(self, name: str) -> None:
        """Give none in a name any more, and say so."""
        self._names.pop(name, None)
        self._left.append(name)
        self.hurry()

    def hurry(self) -> None:
        """Give the next ones at once."""
        self._due_at = 0.0

    def due_in(self, now: float) -> float:
        """Return in how many seconds the next ones are due."""
        return max(0.0, self._due_at - now)

    def give(self, now: float, write: Write) -> None:
        """Give them, if they are due."""
        if now < self._due_at:
            return
        self._due_at, self._count = now + HEARTBEAT, self._count + 1
        for name in list(self._names):  # any thread may add one
            write(name, self._count)
        self.take_leave(write)

    def take_leave(self, write: Write) -> None:
        """Say in which names none come any more."""
        while self._left:
            write(self._left.pop(), LEFT)
