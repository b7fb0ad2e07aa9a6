"""What a process knows from its cluster's heartbeats: who lives, in which slot, in which role.

One thread reads them and tells this; any may ask.
"""

from __future__ import annotations

import logging
import time

from streams.kafka import Message
from streams.node import MANY, SILENCE, Claim, KafkaClock, Presence, Tenants, period_of
from streams.wire import MalformedError
from streams.wire.heartbeats import HeartbeatReader

log = logging.getLogger("hopline.control")

_PAUSE_PER_RATE, _LONGEST = 0.005, 0.25
"""Seconds between two fetches for each heartbeat a second, and at most."""
_FEW = 20
"""Heartbeats a second up to which each is read when it comes."""


class Heartbeats:
    """The heartbeats that a process with this ``replica`` reads; ``own`` is a name it writes in."""

    def __init__(self, own: str, replica: str, clock: KafkaClock) -> None:
        self._presence = Presence(own, time.monotonic())
        self._clock = clock
        self._reader = HeartbeatReader()
        self._claims: dict[str, tuple[Claim, ...]] = {}
        self._window_at, self._in_window, self._rate = time.monotonic(), 0, 0.0
        self.tenants = Tenants(replica)

    def read(self, message: Message, now: float) -> float | None:
        """Take note of a record; returns the period of a heartbeat of one's own, in seconds."""
        self._in_window += 1
        at = appended(message)
        try:
            seen = self._reader.read(message.key(), message.value())
        except MalformedError as error:
            log.warning("presence: %s", error)
            return None
        name, replica, count, period, claims = seen
        self.tenants.seen(name, replica, count, at, period)
        is_own = self._presence.seen(name, replica, count, now, period)
        if claims or name in self._claims:
            self._claims[name] = claims
            if len(self._claims) > MANY:
                self._claims = {n: c for n, c in self._claims.items() if self._presence.knows(n)}
        return period if is_own else None

    def time(self, newest: Message, now: float) -> None:
        """Learn Kafka's clock from what was read last."""
        self._clock.seen(appended(newest), now)

    def end_read(self, now: float) -> None:
        """Note that the topic was read to its end."""
        self._presence.end_read(now)
        self._clock.end_read(now)
        self.tenants.end_read()

    def pause(self, now: float) -> float:
        """Return how many seconds to wait before more is fetched.

        A fetch costs many times what a heartbeat does, so it is to bring several of them.
        """
        took = now - self._window_at
        if took >= 1:
            self._rate, self._in_window, self._window_at = self._in_window / took, 0, now
        return min(_LONGEST, self._rate * _PAUSE_PER_RATE) if self._rate > _FEW else 0.0

    @property
    def period(self) -> float:
        """Return how many seconds there are to be between two heartbeats in one name."""
        return period_of(self.tenants.living)

    def reachable(self, instance: str, silence: float = SILENCE) -> bool:
        """Tell whether heartbeats come in a name, as :meth:`streams.node.Presence.reachable`."""
        return self._presence.reachable(instance, time.monotonic(), silence)

    def claims(self, instance: str) -> tuple[Claim, ...] | None:
        """Return what an instance has said last of its mirrored databases; ``None``: nothing."""
        return self._claims.get(instance)


def appended(message: Message) -> int:
    """Return when the broker appended a record of ``presence``, by its clock, in epoch ms."""
    return message.timestamp()[1]
