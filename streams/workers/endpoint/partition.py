"""One partition of an endpoint worker: what lives in it, and what is to be done in it next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from streams.kafka import Message
from streams.node import DialogKey, Endpoint, Spare, Transaction, World
from streams.workers.endpoint.inputs import Bodies


@dataclass(frozen=True, slots=True)
class Work:
    """What one transaction is to apply: records, then dialogs whose time has come.

    ``probes``: also let dialogs that wait for a route try again.
    """

    messages: Sequence[Message] = ()
    due: Sequence[DialogKey] = ()
    probes: bool = False

    @property
    def timers(self) -> bool:
        """Tell whether anything but records is wanted."""
        return bool(self.due or self.probes)

    @property
    def is_nothing(self) -> bool:
        """Tell whether there is nothing to do."""
        return not self.messages and not self.timers

    def halves(self) -> tuple[Work, Work] | None:
        """Split what could not be applied; ``None`` where it is one thing."""
        messages, due = self.messages, self.due
        if messages and self.timers:  # what timers say must not condemn the records
            return Work(messages), Work((), due, self.probes)
        if max(len(messages), len(due)) <= 1:
            return None
        m, d = len(messages) // 2, len(due) // 2
        return Work(messages[:m], due[:d]), Work(messages[m:], due[d:])

    def __str__(self) -> str:
        return f"a batch of {len(self.messages)} records and {len(self.due)} timers"


@dataclass(slots=True)
class Partition:
    """Partition p of the three inputs, with the endpoints that live in it.

    Timers run only when the backlog of ``in`` and ``ack`` that was there at assignment is applied:
    an acknowledgement that waits there must not be answered with a retry. ``backlog`` holds the
    high watermarks of then; behind the last record there may be markers of transactions, records of
    aborted ones, and of one that is still open. No position ever gets there, so having read to the
    end (``ends``) counts as well.

    ``parked`` are dialogs whose timer cannot be applied. It would fail again at once, so it waits
    until something else touches the dialog, the catalog changes, or the dialog's lifetime is over
    (epoch milliseconds; ``None`` where it is already).

    ``spare`` is what nobody needs of the inputs, as of when that was looked at last.

    ``mark`` says where ``in`` ended, and when: closed keys are forgotten up to the last mark that
    was reached. ``reached`` is where a topic ended when all of it was applied, markers included.
    """

    number: int
    endpoint: Endpoint
    bodies: Bodies
    positions: dict[str, int]
    backlog: dict[str, int]
    progress_at: float = 0.0
    pending: list[Message] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    mark: tuple[int, int] = (0, 0)
    parked: dict[DialogKey, int | None] = field(default_factory=dict)
    spare: Spare | None = None
    look_at: float = 0.0

    @property
    def caught_up(self) -> bool:
        """Tell whether the backlog is applied."""
        return all(self.positions[topic] >= end for topic, end in self.backlog.items())

    def read_ends(self) -> None:
        """Note, when all before is applied, which topics were read to their ends."""
        for topic in self.ends:
            self.backlog.pop(topic, None)
        self.reached.update(self.ends)
        self.ends.clear()

    def reaches_mark(self, topic: str) -> bool:
        """Tell whether ``in`` is applied up to the mark; if so, keys of before may be forgotten."""
        end, at = self.mark
        if max(self.positions[topic], self.reached.get(topic, 0)) < end:
            return False
        self.endpoint.applied_until = max(self.endpoint.applied_until, at)
        return True

    @property
    def wants_probes(self) -> bool:
        """Tell whether dialogs may and want to try again after a change of the catalog."""
        return self.caught_up and self.endpoint.has_probes

    def look_for_spare(self, clock: float, every: float) -> Spare | None:
        """Look a little further what is needed of the inputs; begin anew ``every`` so many seconds.

        Between two transactions: what is seen is committed. Returns what was found, at the end.
        """
        if clock >= self.look_at:
            self.endpoint.needs.begin(Spare(*self.positions.values()))
            self.look_at = clock + every
        found = self.endpoint.spare()
        self.spare = found or self.spare
        return found

    def take_pending(self) -> list[Message]:
        """Return the records that were read and not applied yet."""
        pending, self.pending = self.pending, []
        return pending

    def take_due(self, now: int) -> list[DialogKey]:
        """Return the dialogs whose time has come; :meth:`arm` gives them back."""
        if not self.caught_up:
            return []
        due = [key for key in self.endpoint.take_due(now) if key not in self.parked]
        over = [key for key, until in self.parked.items() if until is not None and until <= now]
        for key in over:
            del self.parked[key]
        return due + over

    def arm(self, keys: Iterable[DialogKey]) -> None:
        """Let dialogs be due again that were taken and not applied."""
        for key in keys:
            self.endpoint.arm(key)

    def switch(self, world: World) -> None:
        """Take over a new version of the catalog; under it a parked timer may do."""
        self.endpoint.switch(world)
        self.arm(self.parked)
        self.parked.clear()

    def merge(
        self,
        tx: Transaction,
        out_end: int,
        positions: dict[str, int],
        parked: Iterable[DialogKey] = (),
    ) -> None:
        """Take over a committed transaction, and what it has told to be parked."""
        self.endpoint.merge(tx, out_end)
        self.positions = positions
        for key in tx.machines:
            self.parked.pop(key, None)
        for key in parked:
            dialog = self.endpoint.dialogs.get(key)
            ends = dialog.expires_at if dialog is not None else 0
            self.parked[key] = ends if ends > tx.now else None
