"""The participants of a diagram, from left to right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from streams.diagram.rows import Participant, Place, Shape, Sight


def participants(seen: Sequence[Sight], instances: Iterable[str]) -> Iterator[Participant]:
    """Yield all participants: the instances in the order in which messages reach them.

    Services that send first are to the left of their instance, all other services to its right. The
    order is the order of the whole run, even if only a part of the run is drawn.
    """
    met: defaultdict[str, dict[Place, Shape]] = defaultdict(dict)
    for sight in seen:
        for end in sight.ends if sight.shape.is_arrow else ():
            met[end[0]].setdefault(end, sight.shape)
    for instance in dict.fromkeys([*met, *instances]):
        services = [(end, shape) for end, shape in met[instance].items() if len(end) > 1]
        yield from (_service(end) for end, shape in services if shape is Shape.STATEMENT)
        yield Participant((instance,), instance)
        yield from (_service(end) for end, shape in services if shape is not Shape.STATEMENT)


def _service(place: Place) -> Participant:
    instance, database, service = place
    return Participant(place, service, f"{instance}/{database}")
