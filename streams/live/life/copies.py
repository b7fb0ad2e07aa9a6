"""The copies of a dialog's messages and acknowledgements: sender, receiver and time.

A copy's path lists the instances that have decided on the copy, with times. The last instance on
the path of a record in ``txq`` wrote that record. The path of the record's successor contains the
time at which the receiving instance read the record. So every record of ``txq`` becomes an arrow,
whose end time is in the record's successors.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from streams.live.life.decide import Decided, Decider
from streams.live.life.records import Frame

Path = tuple[tuple[str, int], ...]
_WAITS = ("out", "txq")
_ARRIVED = ("in", "ack")


@dataclass(frozen=True, slots=True)
class Passage:
    """A copy from one instance to the next; ``arrived`` is when the receiver read it, if ever.

    ``decisions`` contains the sender's decision and, if the receiver delivered the copy, the
    receiver's decision. ``again``: the same forwarder had forwarded the same copy before.
    """

    frame: Frame
    sender: str
    receiver: str
    at: int
    arrived: int | None
    decisions: tuple[Decided, ...]
    again: bool = False


class Copies:
    """All copies of one dialog, perhaps thousands, indexed for the expected queries."""

    def __init__(self, frames: Sequence[Frame], decider: Decider) -> None:
        self._decider = decider
        self._waiting: dict[object, Frame] = {}
        self._by_message: dict[object, tuple[int, Frame]] = {}
        self._paths: defaultdict[object, set[tuple[str, ...]]] = defaultdict(set)
        self._after: defaultdict[tuple[object, str, Path], list[int]] = defaultdict(list)
        self._delivered: dict[tuple[object, Path], Decided] = {}
        self._passed = [f for f in frames if f.kind == "txq" and f.journey.path]
        for number, frame in enumerate(frames):
            if frame.kind in _WAITS:
                self._note_waiting(number, frame)
            if frame.journey.path and frame.kind != "queue":
                instance, at = frame.journey.path[-1]
                self._after[frame.copy, instance, frame.journey.path[:-1]].append(at)
        for times in self._after.values():
            times.sort()
        for frame in frames:
            if frame.kind == "in" and frame.header is not None:
                path = tuple(instance for instance, _ in frame.journey.path)
                self._paths[frame.header.message_id, frame.journey.attempt].add(path)
            if frame.kind in _ARRIVED and frame.journey.path:
                decided = self._decided(frame, went_to=frame.journey.path[-1][0])
                if decided is not None:
                    self._delivered.setdefault((frame.copy, frame.journey.path[:-1]), decided)

    def passages(self) -> Iterator[Passage]:
        """Yield every copy from one instance to another, in log order."""
        seen: Counter[object] = Counter()
        for frame in self._passed:
            path = frame.journey.path
            sender, at = path[-1]
            once = (frame.copy, path[:-1], sender, frame.home)
            seen[once] += 1
            decisions = (
                self._decided(frame, went_to=frame.home),
                self._delivered.get((frame.copy, path)),
            )
            yield Passage(
                frame,
                sender,
                frame.home,
                at,
                self._taken_up(frame),
                tuple(d for d in decisions if d is not None),
                again=seen[once] > 1,
            )

    def paths(self, message_id: uuid.UUID | None, attempt: int) -> set[tuple[str, ...]]:
        """Return the paths of the delivered copies of an attempt."""
        return self._paths.get((message_id, attempt), set())

    def at_home(self, frame: Frame) -> Decided | None:
        """Return the decision about a message that never left its instance."""
        path = frame.journey.path
        return self._delivered.get((frame.copy, ())) if len(path) == 2 else None

    def refused(
        self, instance: str, message_id: uuid.UUID | None, attempt: int | None, at: int
    ) -> Decided | None:
        """Return the reason why an instance did not forward a copy.

        ``message_id`` is ``None`` for an acknowledgement.
        """
        found = (self._by_message.get((message_id, attempt, home)) for home in (instance, None))
        first = min(filter(None, found), default=None)
        if first is None:
            return None
        frame = first[1]
        inside = frame.kind == "out"
        return self._decider.decide(instance, frame.parties, at, inside=inside, went_to=None)

    def _note_waiting(self, number: int, frame: Frame) -> None:
        """Index a record, unless the index already has an equal one.

        The topic ``out`` of a mirrored pair belongs to no instance, so its records are indexed
        without an instance.
        """
        is_out = frame.kind == "out"
        origin = None if is_out else frame.home
        for path in (frame.journey.path, None):
            self._waiting.setdefault((frame.copy, origin, path), frame)
        message_id = frame.header.message_id if frame.header is not None else None
        home = None if is_out and frame.home not in self._decider.instances else frame.home
        about = message_id, frame.journey.attempt, home
        self._by_message.setdefault(about, (number, frame))

    def _taken_up(self, frame: Frame) -> int | None:
        """Return the time at which the receiver first decided on a copy."""
        path = frame.journey.path
        # A gateway that hides the path shows no instances before itself.
        found = (self._after.get((frame.copy, frame.home, before)) for before in (path, ()))
        times = [each for each in found if each]
        later = ((each, bisect_left(each, path[-1][1])) for each in times)
        earliest = min((each[0] for each in times), default=None)
        return min((each[n] for each, n in later if n < len(each)), default=earliest)

    def _decided(self, frame: Frame, *, went_to: str) -> Decided | None:
        """Explain the decision of the last instance on a copy's path."""
        path = frame.journey.path
        instance, at = path[-1]
        source = self._source(frame, instance, path[:-1])
        inside = source.kind == "out" if source is not None else len(path) == 1
        parties = source.parties if source is not None else frame.parties
        return self._decider.decide(instance, parties, at, inside=inside, went_to=went_to)

    def _source(self, frame: Frame, instance: str, before: Path) -> Frame | None:
        """Return the record that an instance read; at the start of a path, this is in ``out``."""
        origins = (instance,) if before else (None, instance)
        found = (
            self._waiting.get((frame.copy, origin, path))
            for path in (before, None)
            for origin in origins
        )
        return next(filter(None, found), None)
