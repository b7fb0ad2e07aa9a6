"""Signs of life: which beats of whom a reader has seen by now, worked out when somebody asks.

A forwarder writes its presence once a second. One event per second and pair would be most of a
run, so nothing happens here while time passes: :meth:`Signs.reachable` tells ``node.Presence`` of
the last beats that its reader could have seen, and every change (a crash, a link that goes down)
first brings those up to date whom it concerns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from streams.node import Presence
from streams.simulator.clock import SECOND, Clock

BEAT = SECOND


class Signs:
    """The presence of all instances, as each of them sees it."""

    def __init__(
        self, instances: Iterable[str], clock: Clock, is_up: Callable[[str, str], bool]
    ) -> None:
        self._clock = clock
        self._is_up = is_up
        self._all = tuple(instances)
        self._lives: dict[str, int] = {}
        self._since: dict[str, int] = {}
        self._views: dict[str, Presence] = {}
        self._heard: dict[str, int] = {}

    def start(self, instance: str) -> None:
        """Let an instance's forwarder begin to give signs, and to read those of others."""
        now = self._clock.now
        self._lives[instance] = self._lives.get(instance, 0) + 1
        self._since[instance] = now
        self._views[instance] = Presence(instance, now / SECOND)
        self._heard[instance] = -1
        for reader in self._all:
            self._look(reader, instance)

    def stop(self, instance: str) -> None:
        """Let an instance's forwarder fall silent; what it has seen is forgotten."""
        for reader in self._all:
            self._look(reader, instance)
        self._since.pop(instance, None)
        self._views.pop(instance, None)

    def before_cut(self, a: str, b: str) -> None:
        """Bring the two up to date: from now on they see nothing of each other."""
        self._look(a, b)
        self._look(b, a)

    def reachable(self, reader: str, instance: str) -> bool:
        """Tell whether an instance may be written to, as its reader sees it."""
        view = self._views[reader]
        self._look(reader, instance)
        view.end_read(self._clock.now / SECOND)
        return view.reachable(instance, self._clock.now / SECOND)

    def _look(self, reader: str, instance: str) -> None:
        """Tell a reader of the last beat of an instance, unless there is nothing between them."""
        view, since = self._views.get(reader), self._since.get(instance)
        if view is None:
            return
        self._hear_own(reader, view)
        if since is not None and reader != instance and self._is_up(reader, instance):
            beat = (self._clock.now - since) // BEAT
            seen_at = (since + beat * BEAT) / SECOND
            view.seen(instance, str(self._lives[instance]), beat, seen_at)

    def _hear_own(self, reader: str, view: Presence) -> None:
        """Tell a reader of each beat of its own since the last time: they move its clock."""
        since, life = self._since[reader], str(self._lives[reader])
        last = (self._clock.now - since) // BEAT
        for beat in range(self._heard.get(reader, -1) + 1, last + 1):
            view.seen(reader, life, beat, (since + beat * BEAT) / SECOND)
        self._heard[reader] = last
