"""The schedule of a process's heartbeats, for its forwarders and its slots."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streams.node import LEFT

HEARTBEAT = 1.0
"""Seconds between two heartbeats of one name, unless there are many names (``node.period_of``)."""

Write = Callable[[str, int], None]
"""Writes one heartbeat, given its name and its count."""


class HeartbeatSchedule:
    """The names under which heartbeats are written, every ``period`` and right after a change.

    Any thread may change the names; one thread writes. Times are monotonic, in seconds.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = dict.fromkeys(names)
        self._left: list[str] = []
        self._count = 0
        self._due_at = 0.0
        self.period = HEARTBEAT

    def add(self, name: str) -> None:
        """Add a name."""
        self._names[name] = None
        self.hurry()

    def leave(self, name: str) -> None:
        """Write a final heartbeat under a name."""
        self._names.pop(name, None)
        self._left.append(name)
        self.hurry()

    def hurry(self) -> None:
        """Make the next heartbeats due immediately."""
        self._due_at = 0.0

    def due_in(self, now: float) -> float:
        """Return the seconds until the next heartbeats are due."""
        return max(0.0, self._due_at - now)

    def write_due(self, now: float, write: Write) -> bool:
        """Write due heartbeats; return whether any was written."""
        if now < self._due_at:
            return False
        self._due_at, self._count = now + self.period, self._count + 1
        names = list(self._names)  # any thread may add a name
        for name in names:
            write(name, self._count)
        self.write_left(write)
        return bool(names)

    def write_left(self, write: Write) -> None:
        """Write the final heartbeats of names that have left."""
        while self._left:
            write(self._left.pop(), LEFT)
