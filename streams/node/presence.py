"""Which next hops are reachable: the one predicate behind failover, 9753 and 11290.

A durable topic never refuses a record, so "unreachable" is defined by signs of life: a forwarder
writes its ``presence`` once a second, and an instance counts as unreachable when its presence has
not changed for five seconds by the *reader's* own clock. That clock goes only as the reader's own
presence is seen to advance, because what the others wrote stands between its own records in the
topic; and it goes no further at a time than a little more than a second, however long the reader
slept. Nobody is judged while the reader may have been asleep or cut off: its own presence must have
been seen to advance within five seconds, and the topic must have been read to its end since then.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SILENCE = 5.0
"""Seconds without a change after which an instance counts as unreachable."""

STEP = 2.0
"""Seconds by which one own sign of life moves the reader's clock at most."""


@dataclass(slots=True)
class Presence:
    """Signs of life as one reader saw them; every ``at`` is its monotonic clock in seconds.

    ``own`` is the instance in whose name the reader itself writes; ``since`` when it began.
    """

    own: str
    since: float
    _clock: float = 0.0
    _own_at: float | None = None
    _changed: dict[str, float] = field(default_factory=dict)
    _count: dict[str, tuple[str, int]] = field(default_factory=dict)
    _awake: float = float("inf")
    _end_read: float = float("-inf")

    def seen(self, instance: str, replica: str, count: int, at: float) -> bool:
        """Note a sign of life, and tell whether it is one's own.

        One that repeats an old count is none, and changes nothing.
        """
        if self._count.get(instance) == (replica, count):
            return False
        self._count[instance] = (replica, count)
        if instance == self.own:
            gap = at - (self.since if self._own_at is None else self._own_at)
            if self._own_at is None or gap >= SILENCE:
                self._awake = at  # what the others wrote meanwhile is still to be read
            self._clock += min(gap, STEP)
            self._own_at = at
        self._changed[instance] = self._clock
        return instance == self.own

    def end_read(self, at: float) -> None:
        """Note that the topic was read to its end."""
        self._end_read = at

    def may_judge(self, at: float) -> bool:
        """Tell whether the reader is awake and connected itself, and up to date."""
        own = self._own_at
        return own is not None and at - own < SILENCE and self._end_read >= self._awake

    def reachable(self, instance: str, at: float, silence: float = SILENCE) -> bool:
        """Tell whether an instance may be written to; in doubt it may.

        ``silence``: seconds without a change after which it may not.
        """
        if instance == self.own or not self.may_judge(at):
            return True
        return self._clock - self._changed.get(instance, 0.0) < silence
