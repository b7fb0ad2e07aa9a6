"""Import foreign recordings: read and stage them, then write the capture."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from streams.capture.container import CaptureWriter
from streams.capture.foreign.assemble import Between, HomeOf, assemble
from streams.capture.foreign.sources import Reader, Source, in_order
from streams.capture.foreign.staging import Staging
from streams.capture.record import Counts, Metadata
from streams.wire import Topics


def import_foreign(
    sources: Collection[Source],
    reader: Reader,
    between: Between,
    home_of: HomeOf,
    output: Path,
    metadata: Metadata,
    *,
    ends: bool = False,
) -> Counts:
    """Write a capture of the sources; the reader's report has the details.

    Memory is bounded, regardless of the sources' size. ``ends``: every dialog ends with its last
    message. Raises InputError for an unknown format, UsageError if the output is not writable.
    """
    with Staging() as staging:
        for source in in_order(sources, reader):
            staging.add(reader.read(source))
        topics = Topics(metadata.prefix)
        with CaptureWriter(output, metadata) as writer:
            for record in assemble(staging, between, home_of, topics, reader.report, ends=ends):
                writer.write(record)
    return writer.counts
