"""Traffic as files: captured, imported or generated, and replayed."""

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
