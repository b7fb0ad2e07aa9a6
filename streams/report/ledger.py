"""The ledger of messages: what was accepted, and what became of every one of it.

    accepted = delivered at the locked target
             + waiting: in a transmission queue, or not read yet
             + discarded: expired with the dialog, or by an Error, END, CLEANUP or NEW_BROKER
             + trimmed: nobody can tell any more, because logs begin later
             + undecided: nobody can tell yet, because a hung transaction hides events
             + lost: none of these; the list must be empty

Deliveries at targets that were refused (several targets) are counted apart, and so are copies.
What a refused target's application sent is accepted like any other message, and ends as discarded.
An account is a sum: that of some dialogs and that of others are together that of all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from streams.report.facts import Missing
from streams.report.reasons import DISCARDED, WAITING, Fate


class Fault(Enum):
    """What must not be; the words follow a number."""

    LOST = "lost"
    TWICE = "delivered twice"
    DISORDERED = "out of order"
    CHANGED = "changed in transit"
    UNKNOWN = "never sent"
    MISCOUNTED = "miscounted by one side"


@dataclass(slots=True)
class Ledger:
    """The account; ``balanced`` is the verdict "nothing lost".

    ``exceptions`` are those that were kept (:meth:`plus`), ``faults`` counts all of them.
    ``unsaid`` messages were delivered, and the commands that sent them are trimmed.
    """

    outcomes: Counter[Fate] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    exceptions: list[tuple[Fault, Missing]] = field(default_factory=list)
    unsaid: int = 0
    at_refused_targets: int = 0
    locked: Counter[str] = field(default_factory=Counter)

    def note(self, fault: Fault, message: Missing) -> None:
        """Take down an exception."""
        self.faults[fault] += 1
        self.exceptions.append((fault, message))

    def add(self, other: Ledger, limit: int | None = None) -> None:
        """Take in the account of other dialogs; keep ``limit`` exceptions at most."""
        self.outcomes.update(other.outcomes)
        self.faults.update(other.faults)
        self.exceptions += other.exceptions
        if limit is not None:
            del self.exceptions[limit:]
        self.unsaid += other.unsaid
        self.at_refused_targets += other.at_refused_targets
        self.locked.update(other.locked)

    @property
    def accepted(self) -> int:
        """Return how many messages the account is about."""
        return self.outcomes.total()

    @property
    def delivered(self) -> int:
        """Return how many are in the queue of their locked target; each counts once."""
        return self.outcomes[Fate.DELIVERED]

    @property
    def waiting(self) -> int:
        """Return how many are still to be delivered."""
        return sum(self.outcomes[outcome] for outcome in WAITING)

    @property
    def discarded(self) -> int:
        """Return how many ended with their dialog, for a reason that has a name."""
        return sum(self.outcomes[outcome] for outcome in DISCARDED)

    @property
    def lost(self) -> list[Missing]:
        """Return the messages that are nowhere and have no excuse."""
        return list(self._of(Fault.LOST))

    @property
    def twice(self) -> list[Missing]:
        """Return the messages that a queue has more than once."""
        return list(self._of(Fault.TWICE))

    @property
    def disordered(self) -> list[Missing]:
        """Return the messages that stand behind a later one."""
        return list(self._of(Fault.DISORDERED))

    @property
    def changed(self) -> list[Missing]:
        """Return the messages that have another body or number than they were given."""
        return list(self._of(Fault.CHANGED))

    @property
    def unknown(self) -> list[Missing]:
        """Return what is in queues and was never sent."""
        return list(self._of(Fault.UNKNOWN))

    def _of(self, fault: Fault) -> Iterator[Missing]:
        return (message for found, message in self.exceptions if found is fault)

    @property
    def balanced(self) -> bool:
        """Tell whether every accepted message is where it may be, once, in order, unchanged."""
        return not self.faults.total()

    @property
    def undecided(self) -> int:
        """Return how many are nowhere, and may be excused by events that cannot be read yet."""
        return self.outcomes[Fate.UNDECIDED]

    @property
    def complete(self) -> bool:
        """Tell whether all commands and deliveries can still be read."""
        return not (self.unsaid or self.outcomes[Fate.TRIMMED] or self.undecided)

    @property
    def verdict(self) -> str:
        """Return the account's last line."""
        if self.balanced:
            trimmed = self.unsaid or self.outcomes[Fate.TRIMMED]
            return (
                "nothing lost"
                + (", as far back as the logs go" if trimmed else "")
                + (f", {self.undecided:,} undecided" if self.undecided else "")
            )
        return ", ".join(f"{n} {fault.value}" for fault in Fault if (n := self.faults[fault]))
