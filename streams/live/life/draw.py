"""Draw a dialog's history, or part of it, as a sequence diagram."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from streams.diagram import Diagram, Sight, folded, participants
from streams.live.life.life import Life, Step


def draw_life(life: Life, *, rules: bool = False, fold: bool = True) -> Diagram:
    """Return the diagram of a dialog's history.

    With ``rules``, each arrow shows its rule; with ``fold``, similar steps share one row.
    """
    sights = [_sight(step, rules=rules) for step in life.steps if step.sight.ends]
    rows = folded(sights, {}) if fold else [row for s in sights for row in folded([s], {})]
    # An instance may have events or unreadable records without an arrow to it.
    places = (end[0] for sight in sights for end in sight.ends)
    there = participants(_outward(sights), places)
    return Diagram(f"Dialog {life.conversation}", tuple(there), tuple(rows), life.left_out)


def cut(diagram: Diagram, first: int, last: int) -> Diagram:
    """Return some rows of a diagram with their participants, in their original positions."""
    rows = diagram.rows[first:last]
    met = {end for row in rows for end in row.ends}
    there = tuple(p for p in diagram.participants if p.place in met)
    return replace(diagram, participants=there, rows=rows)


def _sight(step: Step, *, rules: bool) -> Sight:
    if not rules or not step.decisions or not step.sight.shape.is_arrow:
        return step.sight
    return replace(step.sight, rest=f"{step.sight.rest} ({step.decisions[0].rule})")


def _outward(sights: Sequence[Sight]) -> list[Sight]:
    """Return all sights, ordered by their distance from the start of the dialog.

    So a gateway that was used only by a retry is placed among the other gateways, not after the
    target.
    """
    near: defaultdict[str, set[str]] = defaultdict(set)
    for sight in sights:
        for end in sight.ends:
            near[sight.ends[0][0]].add(end[0])
            near[end[0]].add(sight.ends[0][0])
    far: dict[str, int] = {}
    edge, distance = list(near)[:1], 0
    while edge:
        far.update(dict.fromkeys(edge, distance))
        edge = [n for n in dict.fromkeys(n for e in edge for n in near[e]) if n not in far]
        distance += 1
    return sorted(sights, key=lambda s: min(far.get(end[0], len(far)) for end in s.ends))
