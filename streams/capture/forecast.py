"""Predict with the routing core which databases get which messages of a replay.

The prediction uses the same code as ``hopline diff`` (:mod:`streams.capture.judge`), but with one
topology instead of two, and with the conversations of the replay.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.capture.container import CaptureReader
from streams.capture.dialogs import UNREADABLE, DialogTalk, merge
from streams.capture.group import group
from streams.capture.judge import Judge, Standing, talks_in
from streams.topology import Topology
from streams.wire.job import renewed

__all__ = ["Forecast", "Naming", "Side", "count", "sides_of"]


@dataclass(frozen=True, slots=True)
class Naming:
    """Map the conversation ids of a capture to the ids of a job, in each loop of the job."""

    job: str = ""
    new: bool = False
    loops: int = 1

    def of(self, conversation: str, loop: int) -> str:
        """Return the id of a captured dialog in a loop; loops count from 0."""
        if not self.new or conversation == UNREADABLE:
            return conversation
        return str(renewed(uuid.UUID(conversation), self.job, loop))


class Side(NamedTuple):
    """One side of a dialog of the replay: the old and the new id, and the number of SENDs.

    ``places`` contains the databases (``instance/database``), one of which gets the messages.
    ``places`` is None if the prediction is impossible; ``standing`` is then the reason.
    """

    original: str
    replayed: str
    from_initiator: bool
    messages: int
    places: tuple[str, ...] | None
    standing: Standing


def sides_of(
    reader: CaptureReader, naming: Naming, topology: Topology | None, now: float
) -> Iterator[Side]:
    """Yield each side of each dialog, loop by loop; ``now`` is in epoch seconds.

    Without a topology there is no prediction.
    """
    judge = Judge(topology or Topology(), topology or Topology(), now)
    original = ""

    def named() -> Iterator[DialogTalk]:
        nonlocal original
        for original, talk in group(talks_in(reader, judge), merge):
            for loop in range(naming.loops):
                yield naming.of(original, loop), talk

    for row in judge.rows(named()):
        places = row.after if row.standing is Standing.JUDGED else None
        side = row.from_initiator, row.messages, places, row.standing
        yield Side(original, row.conversation, *side)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Numbers of messages by predicted destination ("" for none), and of unjudged messages."""

    places: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    unjudged: Mapping[Standing, int] = field(default_factory=dict)

    @property
    def messages(self) -> int:
        """Return the total number of messages."""
        return sum(self.places.values()) + sum(self.unjudged.values())


def count(sides: Iterable[Side]) -> Forecast:
    """Count the messages of sides."""
    places: Counter[tuple[str, ...]] = Counter()
    unjudged: Counter[Standing] = Counter()
    for side in sides:
        if side.places is None:
            unjudged[side.standing] += side.messages
        else:
            places[side.places] += side.messages
    return Forecast(dict(places), dict(unjudged))
