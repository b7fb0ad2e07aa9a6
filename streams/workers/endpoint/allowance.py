"""Limit the size of transactions so that each transaction is short even with a large backlog."""

from __future__ import annotations

BYTES = 32 << 20
"""Maximum size in bytes of the inputs of a transaction, and of the waiting bodies."""
READ_BYTES = 512 << 20
"""Maximum size in bytes of the records that are read forward to find waiting bodies; reading them
takes about half a second. Tens of thousands of ordinary records fit (turns.py). But a few records
with large headers may take as much space, and every transaction would read them again."""
LONG = 1.0
"""Seconds after which a transaction counts as too long, so that the next transaction is half as
large. New records wait for the current transaction, at both endpoints."""
SHORT = LONG / 2
"""Maximum duration in seconds of a short transaction, after which the next one may be larger."""
DIALOG_COST = 2
"""Cost of a dialog in a transaction, in records: its copy, state, timers, and acknowledgement."""
LIVELY = 10
"""Records per dialog at which a transaction may have the maximum size."""
SMALL = 1_000
"""Number of records below which many new dialogs do not further reduce the limit."""
LEAST = 16
"""Each transaction may have at least 1/LEAST of the maximum size, however long transactions take.
If transactions of that size are still slow, size is not the cause, and smaller transactions would
take more time per record."""


class Allowance:
    """The number of records that a transaction may read; it may write about as many.

    ``most`` is the maximum. The limit is halved after a long, oversized or aborted transaction, and
    grows by an eighth with each short transaction. If transactions have few records per dialog, the
    limit stays lower, because dialogs also take time and memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.records = most
        self._timely = most
        """The limit for transactions if dialogs took no time."""

    @property
    def flight(self) -> int:
        """Return the maximum number of messages in flight to a service; further messages wait.

        The other side processes one transaction while the next transaction is in transit. A
        transaction in transit is as large as ours; the size of the other side's transaction is
        unknown, but may be the same.
        """
        return self._timely + self.records

    def halve(self) -> None:
        """Halve the limit, because a transaction was aborted or would be too large."""
        self.records = self._timely = max(1, self.records // 2)

    def learn(self, seconds: float, records: int = LIVELY, dialogs: int = 1) -> None:
        """Adapt to the duration and content of a committed transaction."""
        if seconds > LONG:
            least = min(self.records, self._most // LEAST)
            self.records = self._timely = max(self.records // 2, least, 1)
        else:
            if seconds <= SHORT:
                self._timely = min(self._most, _grown(self._timely))
                self.records = _grown(self.records)
            self.records = min(self._affordable(records, dialogs), self._timely, self.records)

    def _affordable(self, records: int, dialogs: int) -> int:
        """Return how many records cost as much as ``most`` records with LIVELY per dialog."""
        each = max(1.0, records / max(1, dialogs))
        most = self._most * (1 + DIALOG_COST / LIVELY) / (1 + DIALOG_COST / each)
        return min(self._most, max(SMALL, int(most)))


def _grown(records: int) -> int:
    return records + records // 8 + 1
