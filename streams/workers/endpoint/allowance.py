"""How much one transaction may take on, so that none becomes long, however much waits."""

from __future__ import annotations

BYTES = 32 << 20
"""A transaction reads inputs of so many bytes, and bodies that waited of as many."""
LONG = 1.0
"""Seconds after which a transaction is called long: the next one takes on half of it. What is new
waits for the one that is under way, here and at the other side."""
IN_FLIGHT = 2
"""What waits adds to the messages in flight towards a service until they fill so many transactions:
one is worked on at the other side while the next one is on its way."""
LEAST = 16
"""However long transactions are, they take on one in so many of the most: below that their length
comes from elsewhere, and each costs more than what is in it."""


class Allowance:
    """Records that a transaction may read, and about as many that it may write.

    ``most`` at best. It is halved when a transaction was long, too large or aborted, and grows back
    by an eighth with each one that was not long.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.records = most

    @property
    def flight(self) -> int:
        """Return how many messages may be in flight towards a service before others wait."""
        return IN_FLIGHT * self.records

    def halve(self) -> None:
        """Take on half as much: a transaction was aborted, or would have been too large."""
        self.records = max(1, self.records // 2)

    def learn(self, seconds: float) -> None:
        """Take notice of how long a committed transaction has taken."""
        if seconds > LONG:
            self.records = max(self.records // 2, min(self.records, self._most // LEAST), 1)
        else:
            self.records = min(self._most, self.records + self.records // 8 + 1)
