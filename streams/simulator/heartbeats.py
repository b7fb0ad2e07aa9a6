"""Compute, on demand, the heartbeats that a reader has read by now.

A forwarder writes its presence once a second, and immediately when the catalog changes its role in
a mirrored pair. One event per second and pair would make up most of a run, so no events are
scheduled. Instead, :meth:`Heartbeats.reachable` passes to ``node.Presence`` the last heartbeats
that its reader could have read, and every change (a crash, a link failure) first updates the
affected readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streams.node import Presence
from streams.protocol import Claim
from streams.simulator.clock import SECOND, Clock

BEAT = SECOND


Claims = tuple[Claim, ...]


class Heartbeats:
    """The presence and claims of all instances, as each instance has read them."""

    def __init__(
        self, instances: Iterable[str], clock: Clock, is_up: Callable[[str, str], bool]
    ) -> None:
        self._clock = clock
        self._is_up = is_up
        self._all = tuple(instances)
        self._lives: dict[str, int] = {}
        self._since: dict[str, int] = {}
        self._views: dict[str, Presence] = {}
        self._own_read: dict[str, int] = {}
        self._claiming: dict[str, Callable[[], Claims]] = {}
        self._claims: dict[str, dict[str, Claims]] = {}

    def start(self, instance: str, claims: Callable[[], Claims]) -> None:
        """Start an instance's heartbeats, and its reading of other instances' heartbeats.

        ``claims`` returns the instance's current claims.
        """
        now = self._clock.now
        self._claiming[instance], self._claims[instance] = claims, {}
        self._lives[instance] = self._lives.get(instance, 0) + 1
        self._since[instance] = now
        self._views[instance] = Presence(instance, now / SECOND)
        self._own_read[instance] = -1
        for reader in self._all:
            self._look(reader, instance)

    def stop(self, instance: str) -> None:
        """Stop an instance's heartbeats, and forget what it has read."""
        for reader in self._all:
            self._look(reader, instance)
        for each in (self._since, self._views, self._claims, self._claiming):
            each.pop(instance, None)

    def before_cut(self, a: str, b: str) -> None:
        """Update what two instances have read from each other, before a cut separates them."""
        self._look(a, b)
        self._look(b, a)

    def reachable(self, reader: str, instance: str) -> bool:
        """Return whether an instance is reachable from the reader's point of view."""
        view = self._views[reader]
        self._look(reader, instance)
        view.end_read(self._clock.now / SECOND)
        return view.reachable(instance, self._clock.now / SECOND)

    def claims(self, reader: str, instance: str) -> Claims | None:
        """Return an instance's last claims, or ``None`` if its reader has read nothing yet."""
        self._look(reader, instance)
        return self._claims[reader].get(instance)

    def _look(self, reader: str, instance: str) -> None:
        """Let a reader read an instance's last heartbeat, unless the link between them is down."""
        view, since = self._views.get(reader), self._since.get(instance)
        if view is None:
            return
        self._read_own(reader, view)
        if since is None or not self._is_up(reader, instance):
            return
        if reader != instance:
            beat = (self._clock.now - since) // BEAT
            seen_at = (since + beat * BEAT) / SECOND
            view.seen(instance, str(self._lives[instance]), beat, seen_at)
        self._claims[reader][instance] = self._claiming[instance]()

    def _read_own(self, reader: str, view: Presence) -> None:
        """Let a reader read its own new heartbeats, which advance its clock."""
        since, life = self._since[reader], str(self._lives[reader])
        last = (self._clock.now - since) // BEAT
        for beat in range(self._own_read.get(reader, -1) + 1, last + 1):
            view.seen(reader, life, beat, (since + beat * BEAT) / SECOND)
        self._own_read[reader] = last
