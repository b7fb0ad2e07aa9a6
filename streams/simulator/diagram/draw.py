"""Draw a run as a diagram: the selection, the participants, their order, and the omissions."""

from __future__ import annotations

from collections.abc import Sequence

from streams.diagram import Diagram, DiagramRow, folded, participants, seconds
from streams.prose import counted
from streams.simulator.diagram.choose import Choice, chosen, dialog_names
from streams.simulator.diagram.sights import sights_of
from streams.simulator.run import Simulation

MOST_ROWS = 120
"""Maximum number of rows; a longer diagram is cut and states how many rows follow."""


def diagram_of(run: Simulation, choice: Choice | None = None, most: int = MOST_ROWS) -> Diagram:
    """Return the diagram of a completed run; raise UsageError for an unknown dialog."""
    names = dialog_names(run)
    seen = sights_of(run)
    sights, left_out = chosen(seen, choice or Choice(), names)
    rows = folded(sights, names)
    if len(rows) > most:
        left_out.append(_rest(rows[most:]))
        rows = rows[:most]
    shown = {end for row in rows for end in row.ends} or {(name,) for name in run.instances}
    there = [p for p in participants(seen, run.instances) if p.place in shown]
    title = f"{run.scenario.name}, seed {run.seed}"
    return Diagram(title, tuple(there), tuple(rows), tuple(left_out))


def _rest(rows: Sequence[DiagramRow]) -> str:
    copies = sum(row.count for row in rows if row.shape.is_copy)
    others = sum(row.count for row in rows if not row.shape.is_copy)
    return (
        f"... {counted(copies, 'more copy', 'more copies')} and "
        f"{counted(others, 'other event')} from {seconds(rows[0].at)} s on: "
        "--dialog, --since and --until show them"
    )
