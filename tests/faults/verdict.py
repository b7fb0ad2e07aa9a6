"""What a run has shown: read from the topics, held against what was to be said."""

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


@dataclass(frozen=True, slots=True)
class Verdict:
    """The account of a run; every number but ``messages`` and ``dialogs`` must be 0.

    ``unsaid`` and ``said_twice`` are about the applications: what they have committed is not what
    they were to say, each thing once. ``untrimmed``: topics were to be trimmed, and are whole.
    ``unrefused``: an application's position was forgotten, and it went on without being refused.
    ``ended``: processes that ended by themselves where nothing is done to any of them.
    ``contradicted``: statements that were applied although events report them as refused.
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
    ended: int = 0
    contradicted: int = 0

    @property
    def faults(self) -> dict[str, int]:
        """Return what is not as it must be."""
        counted = {name: getattr(self, name) for name in self.__slots__}
        return {n: v for n, v in counted.items() if v and n not in ("messages", "dialogs")}


def judge(
    load: Load, ledger: Ledger, messages: Sequence[tuple[bool, bytes]], sides: Sequence[Side]
) -> Verdict:
    """Hold what the topics say against the load: ledger, applications, ends of dialogs.

    ``messages`` are what was said: whether by the initiator, and the body's digest.
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
    """Return what is known of the load's own dialogs."""
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
    """How long it took until faults were over, in seconds: the median, and the worst."""

    count: int
    middle: float
    worst: float


def summed_up(milliseconds: Sequence[int]) -> Recovery:
    """Sum up the recoveries from one kind of fault."""
    found = [each / 1000 for each in milliseconds] or [0.0]
    return Recovery(len(milliseconds), median(found), max(found))
