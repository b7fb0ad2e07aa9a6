"""The trim point of an endpoint worker's inputs: the lowest position that its state needs.

Bodies are not stored twice (docs/kafka_mapping.md, rule 5); a dialog's state contains only their
positions. In ``cmd``, these are the positions of accepted, unacknowledged messages. In ``in``, they
belong to messages that are out of order, incomplete, or for a queue that is off. Records that are
below the lowest of these positions and below the read position are never read again.

The trim point is computed from committed state, not from an open transaction: if the transaction is
aborted, the records that it released are needed again. The lowest needed position only rises, so a
result remains valid.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from heapq import nsmallest
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from streams.node.endpoint.dialogs import Kept
from streams.protocol import Dialog, DialogKey

AT_ONCE = 250
"""Number of steps between two turns of a worker. A step is one dialog, or :data:`POSITIONS`."""
POSITIONS = 100
"""Number of positions in a step; decoding them takes as long as decoding a small dialog (30 µs)."""
Look = Callable[[Kept], Dialog | None]
"""Returns a committed dialog, or ``None`` if it has been removed since."""


class TrimPoint(NamedTuple):
    """The positions of an endpoint's inputs below which records may be deleted."""

    cmd: int = 0
    inbox: int = 0
    ack: int = 0


class RetentionFloor:
    """The lowest position that each dialog of a partition needs.

    A change to a dialog is registered immediately and examined later. A *round* examines the
    dialogs that were registered before it, a few at a time. Dialogs that change during the round do
    not need records below the positions at its start. A dialog with many positions takes several
    steps.
    """

    def __init__(self) -> None:
        self._lowest: tuple[dict[Kept, int], dict[Kept, int]] = {}, {}  # cmd, in
        self._noted: dict[Kept, None] = {}
        self._round: list[Kept] = []
        self._steps: Iterator[None] | None = None
        self._examined: Kept | None = None
        self._floor: TrimPoint | None = None

    def note(self, kept: Kept, dialog: Dialog) -> None:
        """Register a committed dialog."""
        if dialog.needs_bodies:
            self._noted[kept] = None
        else:
            self.forget(kept)

    def forget(self, kept: Kept) -> None:
        """Record that a dialog no longer needs records."""
        self._noted.pop(kept, None)
        if self._examined is kept:
            self._examined = None
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

    def go_on(self, look: Look, most: int = AT_ONCE) -> TrimPoint | None:
        """Continue the round by ``most`` steps; return the trim point when the round ends."""
        if self._floor is None:
            return None
        if self._steps is None:
            self._steps = self._examine(look)
        if sum(1 for _ in islice(self._steps, most)) == most:
            return None
        self._steps = None
        if self._round:  # an error has ended the steps, so a result would be wrong
            return None
        floor, self._floor = self._floor, None
        commands, frames = (min(lowest.values(), default=None) for lowest in self._lowest)
        return TrimPoint(
            floor.cmd if commands is None else min(floor.cmd, commands),
            floor.inbox if frames is None else min(floor.inbox, frames),
            floor.ack,
        )

    def _examine(self, look: Look) -> Iterator[None]:
        """Find the lowest positions of each dialog of the round; yield after each step."""
        while self._round:
            kept = self._examined = self._round[-1]
            dialog = look(kept)
            if dialog is not None and dialog.needs_bodies:
                commands = yield from _lowest_of(dialog.needed_commands())
                frames = yield from _lowest_of(dialog.needed_frames())
                if self._examined is kept:  # otherwise it was removed between two steps
                    self._set_lowest(kept, (commands, frames))
            self._examined = None
            self._round.pop()
            yield

    def _set_lowest(self, kept: Kept, found: tuple[int | None, int | None]) -> None:
        for lowest, position in zip(self._lowest, found, strict=True):
            if position is None:
                lowest.pop(kept, None)
            else:
                lowest[kept] = position

    def below(self, which: int, position: int, most: int) -> tuple[int, list[DialogKey]]:
        """Return the number of dialogs that need a record below a position, and ``most`` of them.

        ``which`` is 0 for ``cmd``, 1 for ``in``. The dialogs that need the oldest records come
        first. The result dates from the last round.
        """
        lowest = self._lowest[which].items()
        found = [(needed, kept.key) for kept, needed in lowest if needed < position]
        return len(found), [key for _, key in nsmallest(most, found, key=itemgetter(0))]


def _lowest_of(positions: Iterator[int]) -> Generator[None, None, int | None]:
    """Return the lowest of these positions; yield after each step except the last."""
    lowest: int | None = None
    while some := tuple(islice(positions, POSITIONS)):
        lowest = min(some) if lowest is None else min(lowest, *some)
        if len(some) == POSITIONS:
            yield
    return lowest
