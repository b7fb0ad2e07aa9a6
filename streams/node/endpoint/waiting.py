"""Dialogs that might be affected by a change to the catalog or by the end of a route request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streams.node.endpoint.dialogs import Kept


class Waiting:
    """Dialogs in the order in which they began to wait, also indexed by database and far service.

    Applications choose the names of services, and each service may have its own request. So the
    dialogs that wait for a service must be found without a search of all dialogs.
    """

    def __init__(self) -> None:
        self._services: dict[Kept, str] = {}
        self._by_service: dict[tuple[str, str], dict[Kept, None]] = {}

    def __iter__(self) -> Iterator[Kept]:
        return iter(self._services)

    def __len__(self) -> int:
        return len(self._services)

    def __contains__(self, kept: Kept) -> bool:
        return kept in self._services

    def put(self, kept: Kept, service: str) -> None:
        """Add a dialog, or move it to the end; ``service`` is its far service, or ""."""
        self.drop(kept)
        self._services[kept] = service
        self._by_service.setdefault((kept.key[0], service), {})[kept] = None

    def drop(self, kept: Kept) -> None:
        """Remove a dialog, if present."""
        service = self._services.pop(kept, None)
        if service is not None:
            where = kept.key[0], service
            alike = self._by_service[where]
            del alike[kept]
            if not alike:
                del self._by_service[where]

    def for_service(self, database: str, service: str) -> Iterable[Kept]:
        """Return the dialogs of a database that wait for a service."""
        return self._by_service.get((database, service), ())
