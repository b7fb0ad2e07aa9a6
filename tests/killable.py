"""A Kafka broker for a single test, which may kill it."""

from __future__ import annotations

from typing import Protocol

from streams.embedded import Beside, Broker

RESTARTS_SOON = Beside(properties={"broker.session.timeout.ms": "4000"})
"""A killed broker starts only after its former session has expired, after 15 s by default."""


class KillableKafka(Protocol):
    """A broker that runs, embedded or in a container."""

    @property
    def bootstrap(self) -> str:
        """Return its address, which may be another one after it was killed."""

    def kill(self) -> None:
        """Kill it with SIGKILL."""

    def restart(self) -> None:
        """Start it again with its data; it may not serve yet when this returns."""


class Embedded(Broker):
    """The embedded one."""

    def restart(self) -> None:
        """Start it again; it serves when this returns."""
        self.start()
