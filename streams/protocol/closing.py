"""Closing out: how long a closed endpoint's key is kept, and who tells whom (U-30).

A copy may still come, and must not open the dialog anew. So the initiator says once that it is
closed, and a target that has not heard that asks until it knows, or its lifetime is over.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams.protocol.dialog import Dialog
from streams.protocol.limits import Limits
from streams.protocol.receiving import Receiver
from streams.protocol.states import State


@dataclass(slots=True)
class Closing:
    """Keep the key of a dialog that is over for as long as a copy of it may still come."""

    dialog: Dialog
    now: int
    limits: Limits
    receiver: Receiver

    def close(self, *, tell: bool = True) -> None:
        """Begin to close out; with ``tell`` an initiator says that it is closed."""
        dialog, limits = self.dialog, self.limits
        dialog.closed_at, dialog.timer_at = self.now, None
        self.receiver.forget_incomplete()
        dialog.received = (dialog.received[0], 0)
        if dialog.is_initiator:
            dialog.forget_at = self.now + limits.closed_initiator
            if tell and dialog.send_sequence:
                self._tell()
        elif dialog.peer_closed:
            dialog.forget_at = self.now + limits.late
        else:
            dialog.forget_at = max(dialog.expires_at, self.now) + limits.late
            dialog.attempt, dialog.retry_at = 0, self.now + limits.ask_after(0)

    def peer_closed(self) -> None:
        """Note that the other side is closed: only copies that are under way can still come."""
        dialog = self.dialog
        if not dialog.peer_closed:
            dialog.peer_closed = True
            if dialog.state is State.CD:
                dialog.forget_at, dialog.retry_at = self.now + self.limits.late, None

    def ask(self) -> None:
        """Repeat the last acknowledgement: an initiator that is closed answers that it is.

        It says so once by itself; where that is lost, the key here would be kept for the lifetime.
        """
        dialog = self.dialog
        dialog.attempt += 1
        dialog.count_unheard()
        dialog.retry_at = self.now + self.limits.ask_after(dialog.attempt)
        self.receiver.owe(0, dialog.first_hop)

    def _tell(self) -> None:
        """Say it as an answer to what has closed us, or by the address that worked last."""
        owed = self.receiver.owed
        if owed is None:
            self.receiver.owe(0, self.dialog.first_hop)
        else:
            self.receiver.owe(owed.attempt, owed.first_hop)
