"""The minimal topologies of the findings, and how they are checked."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

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


def reported(folder: Path, code: str, yaml: str) -> list[str]:
    """Return what a finding's code says about a topology, as ``severity subject: message``."""
    (folder / "topology.yaml").write_text(dedent(yaml), encoding="utf-8")
    return [
        f"{f.severity.value} {f.subject}: {f.message}"
        for f in report_of(folder).findings
        if f.code == code
    ]
