"""Build the newest valid version of the catalog from the records of its topic."""

from __future__ import annotations

import logging
from collections.abc import Collection

from streams.kafka import CatalogState, Message
from streams.node import CatalogView, catalog_of
from streams.wire.evolution import ANNOUNCED, announcement

log = logging.getLogger("hopline.control")


class CatalogFollower:
    """Follow the catalog; an invalid version leaves the last valid one in place.

    One thread reads the catalog; any thread may call the queries. ``view`` is replaced as a whole
    when a new version is complete. ``announced`` are the headers of heartbeats that list the
    readable schemas.
    """

    def __init__(self) -> None:
        self._state = CatalogState()
        self._logged = ""
        self.view: CatalogView | None = None
        self.announced: dict[str, str | bytes | None] = {}

    @property
    def error(self) -> str:
        """Return why the newest version is invalid, if so."""
        return self._state.error

    @property
    def instances(self) -> Collection[str]:
        """Return the names of the instances; none without a view."""
        return () if self.view is None else self.view.instances

    @property
    def homes(self) -> int:
        """Return the number of instances and mirrored databases; 0 without a view."""
        return 0 if self.view is None else len(self.view.instances) + len(self.view.mirrors)

    def has(self, key: str) -> bool:
        """Return whether the catalog has an object."""
        return key in self._state.objects

    def read(self, message: Message) -> bool:
        """Read one record; return whether there is a new version."""
        is_new = self._state.read(message) and self._use_version()
        if self.error and self.error != self._logged:
            log.error("the catalog cannot be read: %s", self.error)
        self._logged = self.error
        return is_new

    def _use_version(self) -> bool:
        state = self._state
        assert state.topology is not None
        try:
            view = catalog_of(state.topology, state.version)
            self.announced = {ANNOUNCED: announcement(state.objects)}
            self.view = view
        except Exception as error:  # the objects contradict each other
            state.error = f"version {state.version}: {error!r}"
            return False
        return True
