"""The trim point of an endpoint worker's inputs: the lowest position that its state needs.

Bodies are not stored twice (docs/kafka_mapping.md, rule 5); a dialog's state contains only their
positions. In ``cmd``, these are the accepted, unacknowledged messages; in ``in``, the messages that
are out of order, incomplete, or for a queue that is off. Records below the lowest of these
positions, and below the read position, are never read again.

The trim point is computed from committed state, never from an open transaction, because the records
that a transaction releases are needed again if it is aborted. The lowest needed position only
rises, so a result stays valid.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import nsmallest
from operator import itemgetter
from typing import NamedTuple

from streams.node.endpoint.dialogs import Kept
from streams.protocol import Dialog, DialogKey

AT_ONCE = 250
"""Number of dialogs examined between two turns of a worker; this takes a few milliseconds."""


class TrimPoint(NamedTuple):
    """The positions of an endpoint's inputs below which records may be deleted."""

    cmd: int = 0
    inbox: int = 0
    ack: int = 0


class RetentionFloor:
    """The lowest position that each dialog of a partition needs.

    A change to a dialog is registered at once and examined later. A *round* examines the dialogs
    that were registered before it, a few at a time; dialogs that change during the round need no
    record below the positions at its start.
    """

    def __init__(self) -> None:
        self._lowest: tuple[dict[Kept, int], dict[Kept, int]] = {}, {}  # cmd, in
        self._noted: dict[Kept, None] = {}
        self._round: list[Kept] = []
        self._floor: TrimPoint | None = None

    def note(self, kept: Kept, dialog: Dialog) -> None:
        """Register a committed dialog."""
        if dialog.needs_bodies:
            self._noted[kept] = None
        else:
            self.forget(kept)

    def forget(self, kept: Kept) -> None:
        """Mark a dialog as needing no record."""
        self._noted.pop(kept, None)
        for lowest in self._lowest:
            lowest.pop(kept, None)

    def begin(self, positions: TrimPoint) -> None:
        """Start a round unless one is running; the partition has read up to ``positions``."""
        if self._floor is None:
            self._floor = positions
            self._round, self._noted = list(self._noted), {}

    @property
    def goes_on(self) -> bool:
        """Return whether a round is running."""
        return self._floor is not None

    def go_on(self, look: Callable[[Kept], Dialog | None], most: int = AT_ONCE) -> TrimPoint | None:
        """Continue the round; return the trim point when the round ends, otherwise ``None``.

        ``look`` returns a committed dialog, or ``None`` if it has been removed since.
        """
        if self._floor is None:
            return None
        for _ in range(min(most, len(self._round))):
            kept = self._round.pop()
            dialog = look(kept)
            if dialog is not None and dialog.needs_bodies:
                needed = dialog.needed_commands(), dialog.needed_frames()
                for lowest, positions in zip(self._lowest, needed, strict=True):
                    first = min(positions, default=None)
                    if first is None:
                        lowest.pop(kept, None)
                    else:
                        lowest[kept] = first
        if self._round:
            return None
        floor, self._floor = self._floor, None
        commands, frames = (min(lowest.values(), default=None) for lowest in self._lowest)
        return TrimPoint(
            floor.cmd if commands is None else min(floor.cmd, commands),
            floor.inbox if frames is None else min(floor.inbox, frames),
            floor.ack,
        )

    def below(self, which: int, position: int, most: int) -> tuple[int, list[DialogKey]]:
        """Return the number of dialogs that need a record below a position, and ``most`` of them.

        ``which`` is 0 for ``cmd``, 1 for ``in``. The dialogs that need the oldest records come
        first. The result dates from the last round.
        """
        lowest = self._lowest[which].items()
        found = [(needed, kept.key) for kept, needed in lowest if needed < position]
        return len(found), [key for _, key in nsmallest(most, found, key=itemgetter(0))]
