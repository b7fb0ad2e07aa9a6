"""The message ledger: every accepted message and its outcome.

    accepted = delivered at the locked target
             + waiting: in a transmission queue, or not read yet
             + discarded: expired with the dialog, or by an Error, END, ...
             + trimmed: unknown, because logs were trimmed
             + undecided: unknown yet, because a hung transaction hides events
             + lost: none of these; the list must be empty

Deliveries at rejected targets (several targets) are counted separately, and so are copies. Messages
from the application of a rejected target are accepted like all other messages, and are finally
counted as discarded.

Accounts are additive: the account of two disjoint sets of dialogs is the sum of their accounts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from streams.report.facts import Missing
from streams.report.reasons import DISCARDED, WAITING, Fate


class Fault(Enum):
    """A violation; its value is the text after a number."""

    LOST = "lost"
    TWICE = "delivered twice"
    DISORDERED = "out of order"
    CHANGED = "changed in transit"
    UNKNOWN = "never sent"
    MISCOUNTED = "miscounted by one side"


@dataclass(slots=True)
class Ledger:
    """The account; ``balanced`` is the verdict "nothing lost".

    ``exceptions`` contains the listed violations (:meth:`plus`); ``faults`` counts all of them.
    ``unsaid`` counts messages that were delivered but whose commands were trimmed.
    """

    outcomes: Counter[Fate] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    exceptions: list[tuple[Fault, Missing]] = field(default_factory=list)
    unsaid: int = 0
    at_refused_targets: int = 0
    locked: Counter[str] = field(default_factory=Counter)

    def note(self, fault: Fault, message: Missing) -> None:
        """Record an exception."""
        self.faults[fault] += 1
        self.exceptions.append((fault, message))

    def add(self, other: Ledger, limit: int | None = None) -> None:
        """Add the account of other dialogs; keep at most ``limit`` exceptions."""
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
        """Return the number of messages in the account."""
        return self.outcomes.total()

    @property
    def delivered(self) -> int:
        """Return the number of messages in the queue of their locked target, each counted once."""
        return self.outcomes[Fate.DELIVERED]

    @property
    def waiting(self) -> int:
        """Return the number of messages still to be delivered."""
        return sum(self.outcomes[outcome] for outcome in WAITING)

    @property
    def discarded(self) -> int:
        """Return the number of messages that ended with their dialog, for a known reason."""
        return sum(self.outcomes[outcome] for outcome in DISCARDED)

    @property
    def lost(self) -> list[Missing]:
        """Return the messages that are missing without a reason."""
        return list(self._of(Fault.LOST))

    @property
    def twice(self) -> list[Missing]:
        """Return the messages that are in a queue more than once."""
        return list(self._of(Fault.TWICE))

    @property
    def disordered(self) -> list[Missing]:
        """Return the messages that were delivered after a later message."""
        return list(self._of(Fault.DISORDERED))

    @property
    def changed(self) -> list[Missing]:
        """Return the messages whose body or number was changed."""
        return list(self._of(Fault.CHANGED))

    @property
    def unknown(self) -> list[Missing]:
        """Return the messages in queues that were never sent."""
        return list(self._of(Fault.UNKNOWN))

    def _of(self, fault: Fault) -> Iterator[Missing]:
        return (message for found, message in self.exceptions if found is fault)

    @property
    def balanced(self) -> bool:
        """Return whether every accepted message is accounted for once, in order and unchanged."""
        return not self.faults.total()

    @property
    def undecided(self) -> int:
        """Return the number of missing messages that unreadable events could explain."""
        return self.outcomes[Fate.UNDECIDED]

    @property
    def complete(self) -> bool:
        """Return whether all commands and deliveries can still be read."""
        return not (self.unsaid or self.outcomes[Fate.TRIMMED] or self.undecided)

    @property
    def verdict(self) -> str:
        """Return the last line of the account."""
        if self.balanced:
            trimmed = self.unsaid or self.outcomes[Fate.TRIMMED]
            return (
                "nothing lost"
                + (", as far back as the logs go" if trimmed else "")
                + (f", {self.undecided:,} undecided" if self.undecided else "")
            )
        return ", ".join(f"{n} {fault.value}" for fault in Fault if (n := self.faults[fault]))
