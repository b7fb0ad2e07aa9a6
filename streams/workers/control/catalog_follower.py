"""Build the newest valid version of the catalog from the records of its topic."""

from __future__ import annotations

import logging
from collections.abc import Collection

from streams.kafka import CatalogState, Message
from streams.node import CatalogView, catalog_of
from streams.wire.evolution import ANNOUNCED, announcement
from streams.workers.control.catch_up import CatchUp

log = logging.getLogger("hopline.control")


class CatalogFollower:
    """Follow the catalog; if a version is invalid, the last valid version stays in use.

    One thread reads the catalog; any thread may call the queries. ``view`` is replaced as a whole
    when a new version is complete. ``announced`` contains the heartbeat headers that list the
    readable schemas. If a version does not match the objects that were read, the catalog is read
    once more from its start. In the meantime, the view stays in use, but ``end`` counts as not
    reached.
    """

    def __init__(self, end: CatchUp) -> None:
        self._end = end
        self._state = CatalogState()
        self._reread: CatalogState | None = None
        self._must_begin_again = False
        self._logged = ""
        self.view: CatalogView | None = None
        self.announced: dict[str, str | bytes | None] = {}

    @property
    def error(self) -> str:
        """Return why the newest version is invalid, if it is."""
        return self._state.error

    @property
    def instances(self) -> Collection[str]:
        """Return the names of the instances, or no names if there is no view."""
        return () if self.view is None else self.view.instances

    @property
    def is_doubtful(self) -> bool:
        """Return whether a newer version may become valid once the catalog has been read again."""
        return self._reread is not None or self._state.is_doubtful

    @property
    def homes(self) -> int:
        """Return the number of instances and mirrored databases, or 0 if there is no view."""
        return 0 if self.view is None else len(self.view.instances) + len(self.view.mirrors)

    def has(self, key: str) -> bool:
        """Return whether the catalog contains an object."""
        return key in self._state.objects

    def read(self, message: Message) -> bool:
        """Read one record; return whether there is a new version."""
        if self._reread is not None:
            self._reread.read(message)
            return False
        return self._checked(self._state.read(message), self._state.next)

    def end_read(self, position: int) -> bool:
        """Record that the catalog was read to its end; return whether there is a new version."""
        reread, self._reread = self._reread, None
        is_new = self._checked(reread is not None and self._state.replace(reread), position)
        self._must_begin_again = self._state.is_doubtful
        return is_new

    def begins_again(self) -> bool:
        """Return whether reading must continue from the start of the catalog."""
        begins, self._must_begin_again = self._must_begin_again and self._state.is_doubtful, False
        if begins:
            log.warning("%s; the catalog is read again from its start", self.error)
            self._reread = CatalogState()
        return begins

    def _checked(self, is_new: bool, position: int) -> bool:
        is_new = is_new and self._use_version()
        if not self.is_doubtful:
            if self.error and self.error != self._logged:
                log.error("the catalog cannot be read: %s", self.error)
            self._logged = self.error
            self._end.move(position)
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
