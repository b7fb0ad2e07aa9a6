"""The two processes of an instance, as those see them that wake, switch or end them."""

from __future__ import annotations

from typing import Protocol

from streams.node import CatalogView


class Forwarding(Protocol):
    """A forwarder that runs."""

    def wake(self) -> None:
        """Look soon at what has come."""

    def look_again(self) -> None:
        """Look soon whether held copies can leave."""

    def switch(self, catalog: CatalogView) -> None:
        """Take over a version of the catalog."""

    def crash(self) -> None:
        """Lose everything that is not durable."""


class Applying(Protocol):
    """An endpoint worker that runs; ``aborts`` of its next transactions fail."""

    aborts: int

    @property
    def at(self) -> str:
        """Return the name of its instance."""

    def wake(self) -> None:
        """Look soon at what is to be done."""

    def switch(self) -> None:
        """Take over the instance's version of the catalog."""

    def crash(self) -> None:
        """Lose everything that is not durable."""
