"""Read a cluster's heartbeats: the live names, their slots and their ownership claims.

One thread reads; any thread may call the queries. A process reads the heartbeats of all names, but
needs only those of its next hops and its own slots. So a heartbeat is decoded only if its name was
queried before (the name is *followed*). For every other name, the last heartbeat is kept undecoded,
and is decoded on request.

Any client with write access to ``presence`` can write any record under any key, so all data kept
here is bounded. Only instances have claims, and therefore large heartbeats, so large heartbeats
under other names are ignored.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

from streams.kafka import Message
from streams.node import EACH_SECOND, SILENCE, KafkaClock, Presence, SlotOwners, period_of
from streams.protocol import Claim
from streams.wire import MalformedError
from streams.wire.heartbeats import HeartbeatReader
from streams.workers.record_errors import Skips

log = logging.getLogger("hopline.control")

_PAUSE_PER_RATE, _LONGEST = 0.01, 0.4
"""Seconds between fetches for each heartbeat per second, and the maximum in heartbeat periods.

If heartbeats are due every five seconds instead of every second, and a name counts as silent after
25 seconds instead of five, heartbeats may be read with five times the delay.
"""
_FEW = 20
"""Maximum number of heartbeats per second at which each heartbeat is read on arrival."""
_WINDOW, _SHARE = 1.0, 0.25
"""Seconds over which heartbeats are counted, and the weight of the latest count in the rate."""
_SMALL = 512
"""Maximum size in bytes of the key, and of the value, of a heartbeat that is kept undecoded."""
_MOST = 10_000
"""Maximum number of heartbeats that are kept undecoded."""
NAMES_EACH = 16
"""Maximum number of names to count per instance (forwarders, endpoint workers and slots).

The more names there are, the less often each worker sends heartbeats. Any writer of ``presence``
can invent names, so their number is limited.
"""
_RECOUNT = 10
"""Number of our own heartbeats between two counts of the live names of a large cluster."""

_Record = tuple[bytes, bytes | None, int, int | None]
"""Key, value, append time and offset of a record.

A message of the client would also keep its headers in memory; a class would take three times as
long.
"""


class Heartbeats:
    """The heartbeats that a process reads; ``own`` and ``replica`` identify its own heartbeats."""

    def __init__(self, own: str, replica: str, clock: KafkaClock) -> None:
        self._presence = Presence(own, time.monotonic(), self._keeps)
        self._followed = {own.encode()}
        self._instances: frozenset[bytes] = frozenset()
        self._unread: dict[bytes, tuple[_Record, float, bool]] = {}
        self._noting = threading.Lock()
        self._period, self._counted = 1.0, 0
        self._homes = 0
        self._clock = clock
        self._reader = HeartbeatReader()
        self._skips = Skips("presence")
        self._claims: dict[str, tuple[Claim, ...]] = {}
        self._window_at: float | None = None
        self._in_window, self._rate = 0, 0.0
        self.are_many = False
        self._slot_owners = SlotOwners(replica, self._keeps)

    def expect(self, instances: Iterable[str], homes: int) -> None:
        """Set the catalog's instances, and the number of instances and mirrored databases."""
        self._instances, self._homes = frozenset(name.encode() for name in instances), homes

    def read(self, message: Message, now: float) -> float | None:
        """Process a record; return the period, in seconds, if it is one of our own heartbeats."""
        self._in_window += 1
        key = message.key()
        if not isinstance(key, bytes):
            return None
        is_large = len(key) > _SMALL or len(message) > _SMALL
        if is_large and not self._is_kept(key):
            return None
        record = key, message.value(), message.timestamp()[1], message.offset()
        if is_large or key in self._followed:
            with self._noting:
                self._unread.pop(key, None)  # it is older
                return self._note(record, now)
        self._unread[key] = record, self._presence.clock, self._slot_owners.is_end_read
        if key in self._followed:  # another thread has queried the name in the meantime
            with self._noting:
                self._note_unread(key)
        elif len(self._unread) > _MOST:
            self._note_all()
        return None

    def follow(self, name: str) -> None:
        """Decode the last heartbeat that was read under a name, and all later heartbeats."""
        key = name.encode()
        if key in self._followed:
            return
        with self._noting:
            self._followed.add(key)
            self._note_unread(key)

    def _note_all(self) -> None:
        with self._noting:
            for key in list(self._unread):
                self._note_unread(key)

    def _note_unread(self, key: bytes) -> None:
        unread = self._unread.pop(key, None)
        if unread is not None:
            record, clock, came = unread
            self._note(record, 0.0, clock, came)

    def _note(
        self, record: _Record, now: float, clock: float | None = None, came: bool | None = None
    ) -> float | None:
        try:
            return self._note_heartbeat(record, now, clock, came)
        except Exception as error:  # no record may end the thread that reads for all workers
            self._skips.log(log, record[3], error)
            return None

    def _note_heartbeat(
        self, record: _Record, now: float, clock: float | None, came: bool | None
    ) -> float | None:
        key, value, at, _ = record
        name, replica, count, period, claims = self._reader.read(key, value)
        if name.encode() != key:
            raise MalformedError("its key is not its name")
        self._slot_owners.seen(name, replica, count, at, period, came=came)
        is_own = self._presence.seen(name, replica, count, now, period, clock=clock)
        if claims or name in self._claims:
            self._note_claims(name, claims)
        return period if is_own else None

    def _note_claims(self, name: str, claims: tuple[Claim, ...]) -> None:
        if self._keeps(name):
            self._claims[name] = claims
        if len(self._claims) > len(self._followed) + len(self._instances):  # of former instances
            self._claims = {name: c for name, c in self._claims.items() if self._keeps(name)}

    def _keeps(self, name: str) -> bool:
        return self._is_kept(name.encode())

    def _is_kept(self, key: bytes) -> bool:
        """Return whether a name is always kept, because the process may need its claims."""
        return key in self._followed or key in self._instances

    def time(self, newest: Message, now: float) -> None:
        """Update Kafka's clock from the newest record."""
        self._clock.seen(appended(newest), now)
        self._slot_owners.time(appended(newest))

    def end_read(self, now: float) -> None:
        """Record that the topic was read to its end."""
        self._presence.end_read(now)
        self._clock.end_read(now)
        self._slot_owners.end_read()

    def pause(self, now: float, period: float) -> float:
        """Return the seconds to wait before the next fetch. Call this after a fetch.

        A fetch takes much more CPU time than a heartbeat, so each fetch should return several
        heartbeats. ``period``: seconds between two heartbeats of this process. Sets ``are_many`` if
        there is a pause.
        """
        if self._window_at is None:  # the backlog does not count towards the rate
            self._window_at, self._in_window = now, 0
        self._count(now, now - self._window_at)
        if not self.are_many:
            return 0.0
        return min(_LONGEST * period, self._rate * _PAUSE_PER_RATE)

    def _count(self, now: float, took: float) -> None:
        if took < _WINDOW:
            return
        self._rate += _SHARE * (self._in_window / took - self._rate)
        self._in_window, self._window_at = 0, now
        # The client is replaced when ``are_many`` changes, so it must not depend on the count of a
        # single second.
        self.are_many = self._rate > (_FEW / 2 if self.are_many else _FEW)

    @property
    def period(self) -> float:
        """Return the seconds between two heartbeats under one name.

        Call this once for each heartbeat of this process.
        """
        if len(self._slot_owners) + len(self._unread) <= EACH_SECOND:
            self._period, self._counted = 1.0, 0
        elif self._counted % _RECOUNT == 0:
            self._note_all()
            with self._noting:  # other threads may add a name by a query
                living = self._slot_owners.living
            self._period = period_of(min(living, NAMES_EACH * self._homes))
            self._counted = 1
        else:
            self._counted += 1
        return self._period

    def slot_owners(self, *slots: str) -> SlotOwners:
        """Return the known slot owners; from now on, also follow ``slots``."""
        for slot in slots:
            self.follow(slot)
        return self._slot_owners

    def reachable(self, instance: str, silence: float = SILENCE) -> bool:
        """Return whether a name sends heartbeats, like :meth:`streams.node.Presence.reachable`."""
        self.follow(instance)
        return self._presence.reachable(instance, time.monotonic(), silence)

    def claims(self, instance: str) -> tuple[Claim, ...] | None:
        """Return the last ownership claims of an instance; ``None`` if it sent no heartbeat."""
        self.follow(instance)
        return self._claims.get(instance)


def appended(message: Message) -> int:
    """Return the append time of a record of ``presence`` by the broker's clock, in epoch ms."""
    return message.timestamp()[1]
