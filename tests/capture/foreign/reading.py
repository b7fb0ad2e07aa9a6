"""Import for a test, and look at what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams.capture import CaptureOrigin, CaptureReader, Metadata, Record
from streams.capture.foreign.assemble import Between
from streams.capture.foreign.findings import Report
from streams.capture.foreign.homes import Homes
from streams.capture.foreign.log import LogColumns
from streams.capture.foreign.sources import Reader, Source
from streams.capture.foreign.write import import_foreign
from streams.protocol import Command
from streams.wire import decode_event
from streams.wire.records import read_command

NOWHERE = Between()


def imported(
    folder: Path,
    *sources: Path | Source,
    log: LogColumns | None = None,
    between: Between = NOWHERE,
    homes: Homes | None = None,
    ends: bool = False,
    **reader: Any,
) -> tuple[list[Record], Report]:
    """Return the records that an import makes of some files, and its report."""
    report = Report()
    output = folder / "imported.avro"
    import_foreign(
        [one if isinstance(one, Source) else Source(one) for one in sources],
        Reader(report, log, **reader), between, homes or Homes(), output,
        Metadata(CaptureOrigin.IMPORTED, "ssb.", "", 0), ends=ends,
    )  # fmt: skip
    return list(CaptureReader(output)), report


def commands(records: list[Record]) -> list[Command]:
    """Return the commands among records, in their order."""
    return [
        read_command(r.key, r.value, list(r.headers), r.timestamp)
        for r in records
        if r.topic.startswith("ssb.cmd.")
    ]


def events(records: list[Record]) -> list[dict[str, Any]]:
    """Return the trace events among records."""
    return [decode_event(r.value) for r in records if r.topic == "ssb.event"]


def left(report: Report) -> dict[str, int]:
    """Return what could not be mapped, by kind."""
    return {kind: one.count for kind, one in report.left.items()}
