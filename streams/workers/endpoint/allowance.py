"""Limit the size of a transaction, so that none takes long, however large the backlog is."""

from __future__ import annotations

BYTES = 32 << 20
"""Maximum bytes of inputs per transaction, and maximum bytes of waiting bodies."""
READ_BYTES = 512 << 20
"""Maximum bytes of the records that are read forward to find waiting bodies, in half a second or
so. Tens of thousands of ordinary records are (turns.py); a few with large headers may be as many
bytes, with each transaction again."""
LONG = 1.0
"""Seconds after which a transaction is too long, so that the next one is half as large. New records
wait for the current transaction, at both endpoints."""
DIALOG = 2
"""Cost of each dialog in a transaction, in records: a copy, state, timers, an acknowledgement."""
LIVELY = 10
"""Records per dialog at which a transaction may have the maximum size."""
SMALL = 1_000
"""Records up to which a transaction is never too long just because each belongs to another dialog.
"""
LEAST = 16
"""However long transactions take, each may have at least this fraction of the maximum. If smaller
ones still take long, the cause is not their size, and each costs more than its records."""


class Allowance:
    """How many records a transaction may read; it may write about as many.

    ``most`` is the maximum. The limit is halved when a transaction was long, too large or aborted,
    and grows by an eighth with each transaction that was not long. If transactions have few records
    per dialog it stays lower, because dialogs need time and memory as well.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.records = most
        self._timely = most
        """The limit, if dialogs cost nothing."""

    @property
    def flight(self) -> int:
        """Return how many messages may be in flight towards a service before others wait.

        The other side processes one transaction while the next one is in transit. The one in
        transit is as large as ours; the size of theirs is unknown, but not necessarily smaller.
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
            self._timely = min(self._most, _grown(self._timely))
            affordable = self._affordable(records, dialogs)
            self.records = min(affordable, self._timely, _grown(self.records))

    def _affordable(self, records: int, dialogs: int) -> int:
        """Return how many records cost as much as the maximum at LIVELY records per dialog."""
        each = max(1.0, records / max(1, dialogs))
        most = self._most * (1 + DIALOG / LIVELY) / (1 + DIALOG / each)
        return min(self._most, max(SMALL, int(most)))


def _grown(records: int) -> int:
    return records + records // 8 + 1
