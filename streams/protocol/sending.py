"""The sending half of an endpoint: accept, transmit and retry messages (reference 4.4 to 4.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from streams.errors.numbers import Number
from streams.protocol.chunk import CHUNK
from streams.protocol.dialog import EVERYTHING, HELD_RUNS, Dialog
from streams.protocol.effects import Effect, Transmit
from streams.protocol.frames import Ack, Fragment, Run, Status
from streams.protocol.limits import Limits
from streams.protocol.states import State

_KEPT = {State.DI: int(Number.END_RECEIVED), State.ER: int(Number.ERROR_RECEIVED)}
"""States in which nothing is transmitted; messages are kept until the application ends the dialog.
"""


@dataclass(slots=True)
class Sender:
    """Advance a dialog's window; ``left_out`` is the local forwarder's committed offset in ``out``.

    A retry waits until that offset is beyond the previous copy.
    """

    dialog: Dialog
    now: int
    limits: Limits
    left_out: int
    effects: list[Effect]
    at_once: bool = True
    touched_chunks: set[int] = field(default_factory=set)
    has_retried: bool = False

    def accept(self, position: int, fragments: int) -> None:
        """Accept the application's next message, whose command is at ``position`` in ``cmd``.

        If ``at_once`` is set, transmit it unless the window is full or other messages wait.
        """
        dialog = self.dialog
        follows = self.at_once and dialog.transmitted == (dialog.send_sequence, 0)
        self._own_chunk(dialog.send_sequence // CHUNK)
        self.touched_chunks.add(dialog.remember(position, fragments))
        if follows and not self._transmit_next(position, fragments):
            self.fill_window(self.limits.window - self.dialog.count_in_flight())

    def _own_chunk(self, number: int) -> None:
        """Copy a chunk before its first change: copies of a dialog share chunks."""
        chunk = self.dialog.chunks.get(number)
        if chunk is not None and number not in self.touched_chunks:
            self.dialog.chunks[number] = chunk.copy()

    def _transmit_next(self, position: int, fragments: int) -> bool:
        """Transmit a new message without :meth:`fill_window` if possible; return whether it was."""
        dialog = self.dialog
        sequence, _ = dialog.transmitted
        if fragments > 1 or not 0 < dialog.in_flight < self.limits.window or dialog.status:
            return False
        self.effects.append(Transmit(sequence, position, dialog.attempt))
        dialog.in_flight += 1
        dialog.transmitted = (sequence + 1, 0)
        return True

    def fill_window(self, most: int) -> None:
        """Transmit up to ``most`` new fragments, as far as the window allows."""
        dialog = self.dialog
        places = list(dialog.waiting(self.limits, most))
        for at, _ in places:
            self._transmit(at)
        if places:
            dialog.transmitted = dialog.after(places[-1][0])
            dialog.in_flight += len(places)
        if not dialog.status:
            self._watch()

    def _watch(self) -> None:
        """Schedule the retry of fragments in flight."""
        dialog = self.dialog
        if dialog.retry_at is None and dialog.in_flight:
            dialog.retry_at = self.now + self.limits.retry_after(dialog.attempt)

    def retry(self) -> None:
        """Send the oldest fragment again if the forwarder has processed its last copy in ``out``.

        A dialog retries at most once per transaction: the other side may write any number of
        acknowledgements that request a retry, and the copies of this transaction are not in ``out``
        yet.
        """
        dialog = self.dialog
        if dialog.all_acknowledged:
            dialog.retry_at = None
        elif dialog.last_copy >= self.left_out:
            dialog.retry_at = self.now + self.limits.recheck
        elif not self.has_retried:
            self.has_retried = True
            dialog.attempt += 1
            dialog.suspect = dialog.transmitted
            self._transmit(dialog.acknowledged)
            if dialog.transmitted == dialog.acknowledged:
                dialog.transmitted = dialog.after(dialog.acknowledged)
                dialog.in_flight = 1
            dialog.retry_at = self.now + self.limits.retry_after(dialog.attempt)

    def retry_now(self) -> int:
        """Retry; return the number of messages in flight, all of which may be sent again.

        Returns 0 if the dialog has already retried in this transaction.
        """
        if self.has_retried:
            return 0
        self.retry()
        return max(1, self.dialog.transmitted[0] - self.dialog.acknowledged[0])

    def possible(self, ack: Ack) -> bool:
        """Return whether the acknowledgement is only for accepted messages (28010)."""
        sequence, fragment = ack.next
        if sequence < self.dialog.acknowledged[0]:
            return True
        if sequence >= self.dialog.send_sequence:
            return ack.next == (self.dialog.send_sequence, 0)
        return 0 <= fragment < self.dialog.stored(sequence)[1]

    def progress(self, ack: Ack) -> None:
        """Advance to the first unconfirmed fragment, and reset the back-off.

        Waiting fragments are transmitted when it is the dialog's turn.
        """
        dialog = self.dialog
        # Only a necessary retry shows that the copies before it were also lost. If the first copy
        # is acknowledged after all, the path is slow, and sending again would make it slower.
        # Copies first sent after the retry took the same path as the retry and are not suspect.
        # Neither are copies that the other side has buffered. Without a retry, only the first
        # refused copy and the copies after it are lost; earlier copies are still in flight.
        lost = ack.next if ack.attempt > 0 else max(ack.next, (dialog.refused, 0))
        suspect = dialog.suspect
        in_flight = dialog.count_in_flight()
        confirmed = dialog.count(dialog.acknowledged, ack.next)
        dialog.acknowledged = ack.next
        dialog.in_flight = max(0, in_flight - confirmed)
        dialog.transmitted = max(dialog.transmitted, ack.next)
        dialog.attempt, dialog.suspect, dialog.retry_at = 0, (0, 0), None
        dialog.refused = EVERYTHING
        dialog.status = 0 if dialog.all_acknowledged else _KEPT.get(dialog.state, 0)
        dialog.first_hop = ack.first_hop
        if not dialog.status:
            self._transmit_lost(lost, suspect, ack.held[:HELD_RUNS])
        self.touched_chunks.update(dialog.forget_acknowledged())
        if not dialog.status:
            self._watch()

    def _transmit_lost(self, at: Fragment, end: Fragment, held: Sequence[Run]) -> None:
        """Transmit fragments again, apart from those that the other side has buffered.

        Transmits at most a window of fragments: any writer can send an acknowledgement that covers
        all fragments in flight, and all their bodies must fit into one transaction. The remaining
        fragments wait for the dialog's turn.
        """
        dialog, left = self.dialog, self.limits.window
        while at < end:
            if not any(first <= at <= last for first, last in held):
                if not left:
                    dialog.transmitted = at
                    dialog.in_flight = dialog.count(dialog.acknowledged, at)
                    return
                self._transmit(at)
                left -= 1
            at = dialog.after(at)

    def refused(self, status: Status) -> None:
        """Store why the local forwarder could not send a copy; ignore older attempts.

        If a retry was refused, the first copy may still have been sent.
        """
        dialog, oldest = self.dialog, self.dialog.acknowledged[0]
        if dialog.retry_at is None or 0 <= status.sequence < oldest:
            return
        if status.attempt == 0 or status.sequence != oldest:
            dialog.refused = min(dialog.refused, status.sequence)
        if status.attempt >= dialog.attempt:
            dialog.status, dialog.status_at = status.number, status.at
            dialog.suspect = dialog.transmitted

    def stop(self) -> None:
        """Stop transmitting: the dialog failed, or the other side ended it (9779, 9784)."""
        dialog = self.dialog
        dialog.attempt, dialog.suspect, dialog.retry_at = 0, (0, 0), None
        if not dialog.all_acknowledged:
            dialog.status, dialog.status_at = _KEPT[dialog.state], self.now

    def discard(self) -> None:
        """Discard all unacknowledged messages."""
        dialog = self.dialog
        if not dialog.all_acknowledged and dialog.discarded_from is None:
            dialog.discarded_from = dialog.acknowledged[0]
        dialog.acknowledged = dialog.transmitted = (dialog.send_sequence, 0)
        dialog.attempt, dialog.status, dialog.suspect, dialog.retry_at = 0, 0, (0, 0), None
        dialog.in_flight = 0
        self.touched_chunks.update(dialog.forget_acknowledged())

    def _transmit(self, at: Fragment) -> None:
        position, fragments = self.dialog.stored(at[0])
        self.effects.append(Transmit(at[0], position, self.dialog.attempt, at[1], fragments))
