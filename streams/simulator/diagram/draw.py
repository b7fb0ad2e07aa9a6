"""A run as a diagram: what is shown of it, who takes part, in which order, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from streams.simulator.diagram.choose import Choice, chosen, dialog_names
from streams.simulator.diagram.fold import folded
from streams.simulator.diagram.rows import (
    Diagram,
    Participant,
    Place,
    Row,
    Shape,
    Sight,
    seconds,
)
from streams.simulator.diagram.sights import sights_of
from streams.simulator.run import Simulation

MOST_ROWS = 120
"""A diagram of more rows nobody reads: it ends there, and says what would follow."""


def diagram_of(run: Simulation, choice: Choice | None = None, most: int = MOST_ROWS) -> Diagram:
    """Return the diagram of a run that was played; raises UsageError for an unknown dialog."""
    names = dialog_names(run)
    seen = sights_of(run)
    sights, left_out = chosen(seen, choice or Choice(), names)
    rows = folded(sights, names)
    if len(rows) > most:
        left_out.append(_rest(rows[most:]))
        rows = rows[:most]
    shown = {end for row in rows for end in row.ends} or {(name,) for name in run.instances}
    participants = [p for p in _participants(seen, run.instances) if p.place in shown]
    title = f"{run.scenario.name}, seed {run.seed}"
    return Diagram(title, tuple(participants), tuple(rows), tuple(left_out))


def _rest(rows: Sequence[Row]) -> str:
    copies = sum(row.count for row in rows if row.shape.is_copy)
    others = sum(row.count for row in rows if not row.shape.is_copy)
    return (
        f"... {copies:,} more copies and {others:,} other things from {seconds(rows[0].at)} s on: "
        "--dialog, --from and --to show them"
    )


# --- participants --------------------------------------------------------------------------------


def _participants(seen: Sequence[Sight], instances: Iterable[str]) -> Iterator[Participant]:
    """Yield all there are: the instances in the order in which messages meet them.

    Each stands among its services: a service that speaks first before its instance, one that is
    spoken to behind it. Whatever is drawn of a run, the order is that of the whole run.
    """
    met: dict[Place, Shape] = {}
    for sight in seen:
        for end in sight.ends if sight.shape.is_arrow else ():
            met.setdefault(end, sight.shape)
    for instance in dict.fromkeys([*(end[0] for end in met), *instances]):
        services = [end for end in met if len(end) > 1 and end[0] == instance]
        speaking = [end for end in services if met[end] is Shape.STATEMENT]
        yield from map(_service, speaking)
        yield Participant((instance,), instance)
        yield from (_service(end) for end in services if end not in speaking)


def _service(place: Place) -> Participant:
    instance, database, service = place
    return Participant(place, service, f"{instance}/{database}")
