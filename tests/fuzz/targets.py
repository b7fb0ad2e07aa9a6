"""What is fuzzed: every reader of files and every decoder, each with real inputs to begin with."""

from __future__ import annotations

from collections.abc import Mapping

from tests.fuzz import (
    on_catalog,
    on_files,
    on_pages,
    on_records,
    on_snapshots,
    on_validation,
    on_workers,
)
from tests.fuzz.target import Target

TARGETS: Mapping[str, Target] = {
    **on_records.TARGETS,
    **on_catalog.TARGETS,
    **on_validation.TARGETS,
    **on_workers.TARGETS,
    **on_files.TARGETS,
    **on_snapshots.TARGETS,
    **on_pages.TARGETS,
}
"""By name."""
