"""The participants of a diagram, from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from streams.diagram.rows import Participant, Place, Shape, Sight


def participants(seen: Sequence[Sight], instances: Iterable[str]) -> Iterator[Participant]:
    """Yield all participants: the instances in the order in which messages reach them.

    Services that send first are to the left of their instance, all other services to its right. The
    order is the order of the whole run, even if only a part of the run is drawn.
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
