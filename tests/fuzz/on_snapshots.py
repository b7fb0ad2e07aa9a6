"""Fuzz the readers of snapshots: documents, and the CSV file of every view."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from streams.analysis.diagnose import diagnose, diagnoses_text
from streams.topology.snapshot import VIEWS, CellType, Scope, load_snapshot
from tests.fuzz.mutate import joined, parts_of
from tests.fuzz.target import Attempt, Target, documented_or, file_of, folder
from tests.snapshots import (
    NOW,
    csv_text,
    documents,
    endpoint,
    flat,
    guid,
    message,
    moment,
    part,
    write_csv,
)
from tests.topology.build import shipped

_SAMPLES = {
    CellType.TEXT: "x", CellType.INT: 1, CellType.BIT: True, CellType.GUID: guid("x"),
    CellType.TIME: moment(NOW), CellType.LOCAL: moment(NOW),
}  # fmt: skip


def _diagnosed(path: Path) -> None:
    """Read a snapshot and print what `hopline diagnose` says of it."""
    found = diagnose(load_snapshot(path), NOW)
    diagnoses_text(found).encode()
    json.dumps(found.to_json(), ensure_ascii=False).encode()


def _snapshot(name: str) -> Attempt:
    return documented_or(lambda data: _diagnosed(file_of(f"{name}-snapshot/{name}", data).parent))


@cache
def _document() -> dict[str, Any]:
    found = documents(shipped("two_brokers"))["ServerA"]
    inside = part(found, "DatabaseA")
    inside["transmission_queue"] = [message("d", "TargetService", "x"), message("e", "Nobody", "y")]
    inside["conversation_endpoints"] = [endpoint("d"), endpoint("e", "DI")]
    return found


def _csvs(view: str) -> Callable[[], list[bytes]]:
    def seeds() -> list[bytes]:
        rows = flat(_document(), view) or ()
        return [csv_text(view, rows, delimiter).encode("utf-8-sig") for delimiter in ",;\t"]

    return seeds


# --- the file of a view, within a snapshot that has the others -----------------------------------


@cache
def _snapshot_folder() -> Path:
    return write_csv(folder() / "views-snapshot", {"ServerA": _document()}) / "ServerA"


def _view(data: bytes) -> None:
    """The name of a view, then its CSV file: the other files are as a server writes them."""
    name, text, *_ = (*parts_of(data), b"", b"")
    view = name.decode("utf-8", "replace")
    file = _snapshot_folder() / f"{view if view in VIEWS else 'routes'}.csv"
    good = file.read_bytes() if file.exists() else None
    try:
        file.write_bytes(text)
        _diagnosed(file.parent)
    finally:
        if good is None:
            file.unlink()
        else:
            file.write_bytes(good)


def _views() -> list[bytes]:
    """Return the rows of each view as a server has them, and one with a value in each column."""
    found = []
    for number, (name, view) in enumerate(VIEWS.items()):
        sample = {column: _SAMPLES[kind] for column, kind in view.columns.items()}
        if view.scope is Scope.DATABASE:
            sample["database_name"] = "DatabaseA"
        rows = [*(flat(_document(), name) or ()), sample]
        text = csv_text(name, rows, ",;\t"[number % 3])
        found.append(joined([name.encode(), text.encode("utf-8-sig")]))
    return found


TARGETS: Mapping[str, Target] = {
    "snapshot_json": Target(lambda: [json.dumps(_document()).encode()], _snapshot("A.json")),
    "snapshot_csv": Target(_csvs("transmission_queue"), _snapshot("transmission_queue.csv")),
    "snapshot_endpoints": Target(
        _csvs("conversation_endpoints"), _snapshot("conversation_endpoints.csv")
    ),
    "snapshot_views": Target(_views, documented_or(_view)),
}
