"""The interfaces of an instance's two processes."""

from __future__ import annotations

from typing import Protocol

from streams.node import CatalogView


class Forwarding(Protocol):
    """A running forwarder."""

    def wake(self) -> None:
        """Schedule a turn."""

    def look_again(self) -> None:
        """Retry buffered copies soon."""

    def switch(self, catalog: CatalogView) -> None:
        """Switch to a version of the catalog."""

    def crash(self) -> None:
        """Lose all state that is not durable."""


class Applying(Protocol):
    """A running endpoint worker; its next ``aborts`` transactions fail."""

    aborts: int

    @property
    def at(self) -> str:
        """Return the name of the worker's instance."""

    def wake(self) -> None:
        """Schedule a turn."""

    def switch(self) -> None:
        """Switch to the instance's version of the catalog."""

    def crash(self) -> None:
        """Lose all state that is not durable."""
