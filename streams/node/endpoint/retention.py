"""The trim point of an endpoint worker's inputs: the lowest position that its state still needs.

Bodies are not written twice (design rule 5): a dialog's state holds positions in ``cmd``, of what
is accepted and unacknowledged, and in ``in``, of what arrived out of order, incomplete, or for a
queue that is off. Below the lowest of these, and below the position of reading, nobody reads again.

This is told of what was committed, never of a transaction that is under way: what that one lets go
is needed again if it is aborted. What is needed only rises, so an answer never becomes wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import nsmallest
from operator import itemgetter
from typing import NamedTuple

from streams.protocol import Dialog, DialogKey

AT_ONCE = 250
"""So many dialogs are looked at between two turns of a worker: a few milliseconds."""


class TrimPoint(NamedTuple):
    """Positions of an endpoint's inputs below which records may be deleted."""

    cmd: int = 0
    inbox: int = 0
    ack: int = 0


class RetentionFloor:
    """The lowest position that each dialog of a partition needs.

    A dialog that was touched is only noted. A *round* looks at what was noted before it, some at a
    time: dialogs that come meanwhile need nothing below where the round began.
    """

    def __init__(self) -> None:
        self._lowest: tuple[dict[DialogKey, int], dict[DialogKey, int]] = {}, {}  # cmd, in
        self._noted: dict[DialogKey, None] = {}
        self._round: list[DialogKey] = []
        self._floor: TrimPoint | None = None

    def note(self, key: DialogKey, dialog: Dialog) -> None:
        """Take notice of a dialog that was committed."""
        if dialog.needs_bodies:
            self._noted[key] = None
        else:
            self.forget(key)

    def forget(self, key: DialogKey) -> None:
        """Take notice that a dialog needs nothing (any more)."""
        self._noted.pop(key, None)
        for lowest in self._lowest:
            lowest.pop(key, None)

    def begin(self, positions: TrimPoint) -> None:
        """Begin a round, unless one goes on; the partition has read up to ``positions``."""
        if self._floor is None:
            self._floor = positions
            self._round, self._noted = list(self._noted), {}

    @property
    def goes_on(self) -> bool:
        """Tell whether a round has begun and is not at its end."""
        return self._floor is not None

    def go_on(
        self, look: Callable[[DialogKey], Dialog | None], most: int = AT_ONCE
    ) -> TrimPoint | None:
        """Go on with the round; returns what it has found at its end, else ``None``.

        ``look`` returns a dialog as it is committed.
        """
        if self._floor is None:
            return None
        for _ in range(min(most, len(self._round))):
            key = self._round.pop()
            dialog = look(key)
            if dialog is not None and dialog.needs_bodies:
                needed = dialog.needed_commands(), dialog.needed_frames()
                for lowest, positions in zip(self._lowest, needed, strict=True):
                    first = min(positions, default=None)
                    if first is None:
                        lowest.pop(key, None)
                    else:
                        lowest[key] = first
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
        """Return how many dialogs need something below a position, and those that need the oldest.

        ``which``: 0 for ``cmd``, 1 for ``in``. As of the last round.
        """
        lowest = self._lowest[which].items()
        found = [(needed, key) for key, needed in lowest if needed < position]
        return len(found), [key for _, key in nsmallest(most, found, key=itemgetter(0))]
