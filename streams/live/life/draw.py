"""A part of a dialog's life as a sequence diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from streams.diagram import Diagram, Sight, folded, participants
from streams.live.life.life import Life, Step


def draw_life(
    life: Life, steps: Sequence[Step] | None = None, *, rules: bool = False, fold: bool = True
) -> Diagram:
    """Return the diagram of some steps, or of all.

    With ``rules`` each arrow says by which rule it was sent; with ``fold`` what happened alike is
    one row. Participants stand where they stand in the whole life, whatever is drawn of it.
    """
    shown = life.steps if steps is None else steps
    sights = [_sight(step, rules=rules) for step in shown]
    rows = folded(sights, {}) if fold else [row for s in sights for row in folded([s], {})]
    everybody = participants([step.sight for step in life.steps], _instances(life))
    met = {end for row in rows for end in row.ends}
    there = tuple(p for p in everybody if p.place in met)
    drawn = tuple(row for row in rows if row.ends)  # a record of no instance is in the list alone
    return Diagram(f"Dialog {life.conversation}", there, drawn, life.left_out)


def _sight(step: Step, *, rules: bool) -> Sight:
    if not rules or not step.decisions or not step.sight.shape.is_arrow:
        return step.sight
    return replace(step.sight, rest=f"{step.sight.rest} ({step.decisions[0].rule})")


def _instances(life: Life) -> list[str]:
    return list(dict.fromkeys(end[0] for step in life.steps for end in step.sight.ends))
