"""The minimal topologies of the findings, and how they are checked."""

from __future__ import annotations

from pathlib import Path

from streams.analysis.check import Report, check_topology
from streams.topology import SUPPRESSIONS_FILE, load, load_suppressions

FOLDERS = Path(__file__).parent
NOW = 1_780_000_000.0
"""In May 2026; what expires in the topologies did so long before, or will long after."""


def report_of(folder: Path) -> Report:
    """Check a folder as the command does."""
    file = folder / SUPPRESSIONS_FILE
    suppressions = load_suppressions(file) if file.is_file() else ()
    return check_topology(load(folder, NOW), NOW, suppressions=suppressions)
