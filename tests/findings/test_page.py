"""The pages say what is checked, and nothing that is shipped gives a false alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.resources import topologies_dir
from streams.topology import Severity

from .folders import report_of
from .page import HEADING, pages

SHIPPED = sorted(path.parent for path in topologies_dir().glob("*/topology.yaml"))
FAULTY = {"several_targets": "TA-12", "routing_loop": "TA-10"}
"""The shipped topologies that show an error, and which."""


def test_the_pages_are_up_to_date() -> None:
    """``python -m tests.findings --write`` would change nothing."""
    assert [str(p) for p, text in pages().items() if p.read_text(encoding="utf-8") != text] == []


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_a_shipped_topology_has_no_error_but_for_two(folder: Path) -> None:
    """And its README has a list of the rest."""
    assert HEADING in (folder / "README.md").read_text(encoding="utf-8")
    errors = [f.code for f in report_of(folder).findings if f.severity is Severity.ERROR]
    assert set(errors) == {FAULTY[folder.name]} if folder.name in FAULTY else not errors
