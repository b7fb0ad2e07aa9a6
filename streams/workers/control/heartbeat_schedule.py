"""When a process writes its heartbeats, in the names of its forwarders and of its slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streams.node import LEFT

HEARTBEAT = 1.0
"""Seconds between two heartbeats in one name, unless there are many (``node.period_of``)."""

Write = Callable[[str, int], None]
"""Writes one heartbeat: its name and its count."""


class HeartbeatSchedule:
    """In which names heartbeats are written, and when: every ``period``, at once after a change.

    Any thread may change the names; one writes. Moments are monotonic, in seconds.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = dict.fromkeys(names)
        self._left: list[str] = []
        self._count = 0
        self._due_at = 0.0
        self.period = HEARTBEAT

    def add(self, name: str) -> None:
        """Write in one more name."""
        self._names[name] = None
        self.hurry()

    def leave(self, name: str) -> None:
        """Write a last heartbeat in a name."""
        self._names.pop(name, None)
        self._left.append(name)
        self.hurry()

    def hurry(self) -> None:
        """Let the next heartbeats be due at once."""
        self._due_at = 0.0

    def due_in(self, now: float) -> float:
        """Return in how many seconds the next ones are due."""
        return max(0.0, self._due_at - now)

    def write_due(self, now: float, write: Write) -> bool:
        """Write the heartbeats that are due; returns whether any was written."""
        if now < self._due_at:
            return False
        self._due_at, self._count = now + self.period, self._count + 1
        names = list(self._names)  # any thread may add one
        for name in names:
            write(name, self._count)
        self.write_left(write)
        return bool(names)

    def write_left(self, write: Write) -> None:
        """Write the last heartbeats of names that have left."""
        while self._left:
            write(self._left.pop(), LEFT)
