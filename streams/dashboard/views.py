"""The system views of one instance, as a page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from streams.dashboard import wording
from streams.kafka import Cluster
from streams.live.views.places import Asked, places_of
from streams.live.views.table import TIMES, VIEWS
from streams.topology import Topology
from streams.wire.plain import body_of

OF_CATALOG = frozenset(
    {"sys.routes", "sys.services", "sys.service_queues", "sys.service_broker_endpoints"}
)
"""Views of declared objects; these views do not need Kafka."""
SHOWN = tuple(name for name in VIEWS if not name.startswith("sys.dm_broker_activated"))
_ROWS, _LETTERS = 100, 120


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as text; ``more`` rows are not shown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0


def read_view(
    name: str, instance: str, topology: Topology, cluster: Cluster | None, now: int
) -> Table:
    """Return a view of an instance; raise SurroundingsError if Kafka is unavailable."""
    view = VIEWS[name]
    nowhere = Cluster("")  # never called, because declared objects are in the topology
    asked = Asked(cluster or nowhere, topology, places_of(topology, instance), now)
    columns = (*(("database",) if view.databases else ()), *view.shown)
    rows = view.rows(asked)
    # cells are texts of at most 120 characters; all rows with their bodies could take gigabytes
    shown = tuple(tuple(_cell(row, c) for c in columns) for row in islice(rows, _ROWS))
    return Table(columns, shown, sum(1 for _ in rows))


def _cell(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    if value is None:
        return ""
    if column in TIMES and isinstance(value, int):
        return wording.clock(value, day=True)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, bytes):
        value = body_of(value)
    text = str(value)
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
