"""Traffic as files: what applications did, captured or generated, and how it is done again."""

from streams.capture.container import CaptureReader, CaptureWriter, readers_of
from streams.capture.record import CaptureOrigin, Counts, Metadata, Record, TimestampType

__all__ = [
    "CaptureOrigin",
    "CaptureReader",
    "CaptureWriter",
    "Counts",
    "Metadata",
    "Record",
    "TimestampType",
    "readers_of",
]
