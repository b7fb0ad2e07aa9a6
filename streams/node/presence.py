"""Which next hops are reachable: the one predicate behind failover, 9753 and 11290.

A durable topic never refuses a record, so "unreachable" is defined by signs of life: a forwarder
writes its ``presence`` once a second, and an instance counts as unreachable when its presence has
not changed for five seconds by the *reader's* own monotonic clock. Nobody is judged while the
reader itself may have been asleep or cut off: its own presence must have been seen to advance
within five seconds, and the topic must have been read to its end since it woke up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SILENCE = 5.0
"""Seconds without a change after which an instance counts as unreachable."""


@dataclass(slots=True)
class Presence:
    """Signs of life as one reader saw them; every ``at`` is its monotonic clock in seconds.

    ``own`` is the instance in whose name the reader itself writes; ``since`` when it began.
    """

    own: str
    since: float
    _changed: dict[str, float] = field(default_factory=dict)
    _count: dict[str, tuple[str, int]] = field(default_factory=dict)
    _awake: float = float("inf")
    _end_read: float = float("-inf")

    def seen(self, instance: str, replica: str, count: int, at: float) -> None:
        """Note a sign of life; one that repeats an old count changes nothing."""
        if self._count.get(instance) == (replica, count):
            return
        if instance == self.own and at - self._changed.get(instance, float("-inf")) >= SILENCE:
            self._awake = at  # after a pause: what the others wrote meanwhile is still to be read
        self._count[instance] = (replica, count)
        self._changed[instance] = at

    def end_read(self, at: float) -> None:
        """Note that the topic was read to its end."""
        self._end_read = at

    def may_judge(self, at: float) -> bool:
        """Tell whether the reader is awake and connected itself, and up to date."""
        own = self._changed.get(self.own)
        return own is not None and at - own < SILENCE and self._end_read >= self._awake

    def reachable(self, instance: str, at: float) -> bool:
        """Tell whether an instance may be written to; in doubt it may."""
        if instance == self.own or not self.may_judge(at):
            return True
        return at - self._changed.get(instance, self.since) < SILENCE
