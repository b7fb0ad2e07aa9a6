"""The result of `hopline verify`: dialogs are judged one by one, and the results are summed.

The size of a sum does not depend on the number of dialogs, because the number of listed exceptions
is limited, and counts are only numbers.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from streams.errors.refusals import Refusals
from streams.prose import counted
from streams.report.begins import Begins
from streams.report.contradictions import Contradiction
from streams.report.dialog_filter import EVERYBODY, LIVE, DialogFilter, job_of
from streams.report.facts import Missing
from streams.report.gather import Facts, Gatherer, refused_shared
from streams.report.ledger import Fault, Ledger
from streams.report.parts import Part, is_dialog, is_shared
from streams.report.reasons import DISCARDED, WAITING, Fate

_FAULTS = list(Fault)


@dataclass(slots=True)
class Account:
    """The ledger of some dialogs, and the outcome of their copies.

    ``refused`` contains rejected statements on several conversations, because the rejections also
    apply to the other conversations. ``overruled`` contains such statements if a dialog contradicts
    the rejection. ``contradicted`` counts statements that were applied although events report
    their refusal; ``example`` is one of them.
    """

    ledger: Ledger = field(default_factory=Ledger)
    dialogs: int = 0
    duplicates: Counter[str] = field(default_factory=Counter)
    drops: Counter[int] = field(default_factory=Counter)
    delays: Counter[int] = field(default_factory=Counter)
    refused: set[bytes] = field(default_factory=set)
    refusals: Refusals = field(default_factory=Refusals)
    overruled: set[bytes] = field(default_factory=set)
    contradicted: int = 0
    example: Contradiction | None = None
    replayed: Counter[str] = field(default_factory=Counter)
    """The numbers of messages accepted from replays, by job."""

    def add(self, other: Account, limit: int) -> None:
        """Add the account of other dialogs; keep at most ``limit`` exceptions in the list."""
        self.ledger.add(other.ledger, limit)
        self.dialogs += other.dialogs
        self.duplicates.update(other.duplicates)
        self.drops.update(other.drops)
        self.delays.update(other.delays)
        self.refused |= other.refused
        self.refusals.add(other.refusals)
        self.overruled |= other.overruled
        self.contradicted += other.contradicted
        self.example = min(filter(None, (self.example, other.example)), default=None)
        self.replayed.update(other.replayed)

    def is_settled(self, refused: Collection[bytes], overruled: Collection[bytes]) -> bool:
        """Return whether the arguments contain all statements in ``refused`` and ``overruled``."""
        return self.refused <= {*refused} and self.overruled <= {*overruled}

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a note about events that report the refusal of applied statements."""
        if self.example is None:
            return ()
        return (
            f"Events report the refusal of {counted(self.contradicted, 'statement')} that queues "
            "or state show as applied. Such events do not count. First: statement "
            f"{self.example.statement} of dialog {self.example.conversation}.",
        )

    @property
    def exceptions(self) -> list[tuple[Fault, Missing]]:
        """Return the listed exceptions, sorted by type, then by dialog and number."""
        return sorted(self.ledger.exceptions, key=_order)

    def to_json(self) -> dict[str, Any]:
        """Return the account as a dictionary for JSON output."""
        ledger = self.ledger
        return {
            "balanced": ledger.balanced,
            "complete": ledger.complete,
            "verdict": ledger.verdict,
            "dialogs": self.dialogs,
            "accepted": ledger.accepted,
            "replayed": dict(sorted(self.replayed.items())),
            "delivered": ledger.delivered,
            "waiting": _fates(ledger, WAITING),
            "discarded": _fates(ledger, DISCARDED),
            "trimmed": ledger.outcomes[Fate.TRIMMED],
            "undecided": ledger.undecided,
            "unsaid": ledger.unsaid,
            "at_refused_targets": ledger.at_refused_targets,
            "locked": dict(sorted(ledger.locked.items())),
            "copies": {
                "removed": dict(sorted(self.duplicates.items())),
                "dropped": {str(n): count for n, count in sorted(self.drops.items())},
                "delayed": {str(n): count for n, count in sorted(self.delays.items())},
            },
            "refused": self.refusals.to_json(),
            "contradicted_refusals": self.contradicted,
            "faults": {fault.name.lower(): ledger.faults[fault] for fault in Fault},
            "listed": len(ledger.exceptions),
            "exceptions": [_exception(fault, m) for fault, m in self.exceptions],
        }


@dataclass(frozen=True, slots=True)
class Judge:
    """Judge complete dialogs; this object is sent to executors."""

    gatherer: Gatherer
    begins: Begins
    limit: int
    dialog_filter: DialogFilter = EVERYBODY

    def judge(self, dialogs: Iterable[tuple[bytes, Iterable[Part]]]) -> Account:
        """Return the account of these dialogs; only one dialog at a time is in memory."""
        total = Account()
        for dialog, parts in dialogs:
            total.add(self._judged(dialog, parts), self.limit)
        return total

    def plus(self, one: Account, other: Account) -> Account:
        """Return the sum of two accounts."""
        one.add(other, self.limit)
        return one

    def _judged(self, dialog: bytes, parts: Iterable[Part]) -> Account:
        if is_shared(dialog):
            refused = refused_shared(parts)
            return Account(refused={refused} if refused else set())
        job = LIVE
        if is_dialog(dialog):
            parts = list(parts)
            job = job_of(uuid.UUID(bytes=dialog), parts)
        if not self.dialog_filter.counts(job):
            return Account()
        facts = Facts(begins=self.begins)
        self.gatherer.add(facts, dialog, parts)
        ledger = facts.balance(self.gatherer.span)
        concerned = bool(ledger.accepted or ledger.unsaid or ledger.faults)
        replayed = Counter({job: ledger.accepted} if job and ledger.accepted else {})
        copies = facts.duplicates, facts.drops, facts.delays
        return Account(
            ledger,
            int(concerned),
            *copies,
            refusals=facts.refusals,
            overruled=facts.overruled,
            contradicted=len(facts.contradictions),
            example=min(facts.contradictions, default=None),
            replayed=replayed,
        )


def _fates(ledger: Ledger, fates: Iterable[Fate]) -> dict[str, int]:
    return {fate.name.lower(): ledger.outcomes[fate] for fate in fates}


def _order(exception: tuple[Fault, Missing]) -> tuple[int, uuid.UUID, bool, int]:
    fault, message = exception
    direction = not message.from_initiator
    return _FAULTS.index(fault), message.conversation, direction, message.sequence


def _exception(fault: Fault, message: Missing) -> dict[str, Any]:
    return {
        "fault": fault.name.lower(),
        "conversation": str(message.conversation),
        "from": "initiator" if message.from_initiator else "target",
        "sequence": message.sequence,
        "message_id": str(message.message_id) if message.message_id.int else None,
        "place": message.place,
        "at": message.at or None,
    }
