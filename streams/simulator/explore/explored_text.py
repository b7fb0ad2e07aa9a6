"""The result of an exploration as text: medians, totals, and all failures."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from streams.prose import counted
from streams.simulator.explore.case import Tale

COLUMNS = ("instances", "dialogs", "messages", "faults", "events")


def medians(tales: Sequence[Tale]) -> dict[str, float]:
    """Return the median of every column."""
    return {name: median(getattr(tale, name) for tale in tales) for name in COLUMNS}


def explored_text(tales: Sequence[Tale]) -> str:
    """Return a table of medians and totals; the same seeds always produce the same bytes."""
    failed = [tale for tale in tales if tale.violation is not None]
    middle = medians(tales)
    lines = [f"{'per run':12}{'median':>10}{'total':>14}"]
    for name in COLUMNS:
        total = sum(getattr(tale, name) for tale in tales)
        lines.append(f"{name:12}{middle[name]:>10g}{total:>14,}")
    lines += ["", f"{counted(len(tales), 'run')}, {len(failed):,} violated an invariant"]
    lines += [f"seed {tale.seed}: {tale.violation}" for tale in failed[:20]]
    if len(failed) > 20:
        lines.append(f"and {len(failed) - 20} more")
    return "\n".join(lines) + "\n"
