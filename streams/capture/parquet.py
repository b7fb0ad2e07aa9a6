"""Export captures as Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from streams.capture.look import Look, raw
from streams.capture.record import Record
from streams.errors import UsageError
from streams.private import open_private
from streams.wire import Topics
from streams.wire.describe import describe

_BATCH, _BATCH_BYTES = 4_096, 64 << 20
"""Maximum number of records per write, and the size in bytes at which a batch is full."""
_DECODED = ("command", "route", "message", "hop", "ack", "status", "event", "result", "dialog")
_HEADER = pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
SCHEMA = pyarrow.schema(
    [
        ("topic", pyarrow.string()),
        ("partition", pyarrow.int32()),
        ("offset", pyarrow.int64()),
        ("at", pyarrow.timestamp("ms", tz="UTC")),
        ("kind", pyarrow.string()),
        ("instance", pyarrow.string()),
        ("database", pyarrow.string()),
        ("conversation", pyarrow.string()),
        ("side", pyarrow.string()),
        ("what", pyarrow.string()),
        ("type", pyarrow.string()),
        ("sequence", pyarrow.int64()),
        ("from_service", pyarrow.string()),
        ("to_service", pyarrow.string()),
        ("contract", pyarrow.string()),
        ("error", pyarrow.int32()),
        ("size", pyarrow.int64()),
        ("id", pyarrow.string()),
        ("timestamp", pyarrow.int64()),
        ("timestamp_type", pyarrow.int8()),
        ("key", pyarrow.binary()),
        ("headers", pyarrow.list_(_HEADER)),
        ("value", pyarrow.binary()),
        ("decoded", pyarrow.string()),
    ]
)
"""The columns: the fields of :class:`Look`, the record itself, and its decoded data as JSON."""


def write_parquet(path: Path, records: Iterable[tuple[Record, Look]], topics: Topics) -> int:
    """Write records as Parquet (zstd); return their number, or raise UsageError if that fails."""
    count, pending = 0, iter(records)
    draft = path.with_name(path.name + ".part")
    try:
        with (
            open_private(draft, "wb") as file,
            parquet.ParquetWriter(file, SCHEMA, compression="zstd") as writer,
        ):
            while rows := list(_batch(pending, topics)):
                writer.write_table(pyarrow.Table.from_pylist(rows, SCHEMA))
                count += len(rows)
        draft.replace(path)
    except OSError as error:
        raise UsageError(
            f"{path}: the file cannot be written: {error}.", "Give a path in an existing folder."
        ) from error
    finally:
        draft.unlink(missing_ok=True)
    return count


def _batch(pending: Iterator[tuple[Record, Look]], topics: Topics) -> Iterator[dict[str, Any]]:
    """Yield the rows of the next table, which must fit into memory."""
    size = 0
    for record, found in islice(pending, _BATCH):
        yield (row := _row(record, found, topics))
        size += len(record.key or b"") + len(record.value or b"") + len(row["decoded"])
        size += sum(len(key) + len(value or b"") for key, value in record.headers)
        if size >= _BATCH_BYTES:
            return


def _row(record: Record, found: Look, topics: Topics) -> dict[str, Any]:
    row: dict[str, Any] = found._asdict()
    row["at"] = found.at if found.time is not None else None
    row["timestamp"], row["timestamp_type"] = record.timestamp, int(record.timestamp_type)
    row["key"], row["value"] = record.key, record.value
    row["headers"] = [{"key": key, "value": value} for key, value in record.headers]
    row["decoded"] = json.dumps(dict(_decoded(record, topics)), ensure_ascii=False)
    return row


def _decoded(record: Record, topics: Topics) -> Iterator[tuple[str, Any]]:
    described = describe(raw(record), topics)
    return ((name, described[name]) for name in _DECODED if name in described)
