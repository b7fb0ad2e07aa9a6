"""The verdict on a run: the content of the topics, compared with the load."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from streams.report import Facts
from streams.report.facts import Side
from streams.report.ledger import Ledger
from streams.report.read import digest_of
from tests.faults.load import Load

_COUNTS = ("messages", "dialogs", "disturbed")
"""Numbers that say what happened, and may be more than 0."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The account of a run; every number must be 0, except those in ``_COUNTS``.

    ``unsaid`` and ``said_twice`` are about the applications, which must commit each message exactly
    once. ``untrimmed``: topics that should have been trimmed but were not. ``unrefused``: an
    application's position was lost, but it continued without being rejected. ``remembered``:
    offsets and transactional ids of workers that Kafka still had after an absence longer than its
    retention. ``ended``: processes that ended by themselves without a fault. ``contradicted``:
    statements that were applied although events report them as rejected. ``disturbed``: kills while
    a backlog drained; ``undisturbed``: absences whose backlog drained without a kill. ``delayed``:
    milliseconds by which hostile records delayed others; ``grown``: processes that grew because of
    them (``tests/faults/harm.py``).
    """

    messages: int
    dialogs: int
    lost: int
    twice: int
    disordered: int
    unfinished: int
    changed: int = 0
    waiting: int = 0
    discarded: int = 0
    unsaid: int = 0
    said_twice: int = 0
    untrimmed: int = 0
    unrefused: int = 0
    remembered: int = 0
    ended: int = 0
    contradicted: int = 0
    disturbed: int = 0
    undisturbed: int = 0
    delayed: int = 0
    grown: int = 0

    @property
    def faults(self) -> dict[str, int]:
        """Return the numbers that must be 0 but are not."""
        counted = {name: getattr(self, name) for name in self.__slots__}
        return {n: v for n, v in counted.items() if v and n not in _COUNTS}


def judge(
    load: Load, ledger: Ledger, messages: Sequence[tuple[bool, bytes]], sides: Sequence[Side]
) -> Verdict:
    """Compare the content of the topics with the load: ledger, applications, ends of dialogs.

    ``messages`` are the sent messages: whether by the initiator, and the body's digest.
    """
    said = Counter(messages)
    wanted = Counter(_digests(True, load.questions())) + Counter(_digests(False, load.answers()))
    return Verdict(
        messages=len(messages),
        dialogs=load.talks,
        lost=len(ledger.lost),
        twice=len(ledger.twice),
        disordered=len(ledger.disordered),
        unfinished=sum(1 for side in sides if side.state != "CD"),
        changed=len(ledger.changed) + len(ledger.unknown),
        waiting=ledger.waiting,
        discarded=ledger.discarded,
        unsaid=(wanted - said).total(),
        said_twice=(said - wanted).total(),
    )


def only(facts: Facts, ours: Container[uuid.UUID]) -> Facts:
    """Return the facts about the load's own dialogs."""
    return replace(
        facts,
        accepted=[row for row in facts.accepted if row.sender.conversation in ours],
        delivered=[row for row in facts.delivered if row.conversation in ours],
        sides=[side for side in facts.sides if side.endpoint.conversation in ours],
    )


def _digests(from_initiator: bool, bodies: Iterable[bytes]) -> Iterable[tuple[bool, bytes]]:
    return ((from_initiator, digest_of(body)) for body in bodies)


@dataclass(frozen=True, slots=True)
class Recovery:
    """The duration of recoveries in seconds: the median, and the maximum."""

    count: int
    middle: float
    worst: float


def summed_up(milliseconds: Sequence[int]) -> Recovery:
    """Sum up the recoveries from one kind of fault."""
    found = [each / 1000 for each in milliseconds] or [0.0]
    return Recovery(len(milliseconds), median(found), max(found))
