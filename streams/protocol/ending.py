"""The end of a dialog: by its application, by an error, or by the other side.

The key of an ended dialog is kept, so that a late copy does not reopen the dialog (U-30). A closed
initiator reports once that it is closed. A target that has not received this report repeats its
request until the lifetime of the dialog expires.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams.errors.event_kinds import ConversationEvent, EventKind
from streams.errors.numbers import Number
from streams.protocol.dialog import Dialog
from streams.protocol.effects import Effect, Report, SendError, not_kept
from streams.protocol.frames import Flag, Message
from streams.protocol.limits import Limits
from streams.protocol.parking import Parking
from streams.protocol.receiving import Receiver
from streams.protocol.sending import Sender
from streams.protocol.states import Input, State, move_state


@dataclass(frozen=True, slots=True)
class RefusalNumbers:
    """The numbers of the event and the Errors for a message that is not delivered (5.3).

    ``error`` is sent to the other side; ``own`` is for this side if its number differs.
    """

    number: Number
    error: Number
    own: Number | None = None


@dataclass(slots=True)
class Ending:
    """End a dialog, and keep its key for as long as copies of its messages can arrive."""

    dialog: Dialog
    now: int
    limits: Limits
    sender: Sender
    receiver: Receiver
    parking: Parking
    effects: list[Effect]

    # --- by the application ----------------------------------------------------------------------

    def stop_listening(self) -> None:
        """Stop deliveries and drop parked messages: the application has ended the dialog."""
        dialog = self.dialog
        waiting = [number for number, _ in dialog.parked if number >= 0]
        # If a message was rejected, earlier messages may still wait for their queue.
        end = dialog.receive_sequence if dialog.deaf_from is None else dialog.deaf_from
        dialog.deaf_from = min([end, *waiting])
        dialog.parked.clear()
        dialog.timer_at = None

    def end(self, position: int, *, unsent: bool, with_error: bool) -> None:
        """Send the EndDialog or Error as the next message; if none was sent before, only close."""
        self.stop_listening()
        if unsent:
            self.sender.discard()
            self.close()
            return
        if with_error:  # U-47: the Error skips all unacknowledged messages
            self.sender.discard()
        self.sender.accept(position, 1)

    def forget(self) -> None:
        """Remove the dialog without notifying the other side."""
        self.stop_listening()
        self.sender.discard()
        self.dialog.refusal = int(Number.REMOTE_CANNOT_EXCHANGE)
        self.close(tell=False)

    # --- by the other side -----------------------------------------------------------------------

    def peer_ended(self) -> None:
        """Process the other side's EndDialog, received in order."""
        if move_state(self.dialog, Input.PEER_ENDED):
            if self.dialog.state is State.DI:
                self.sender.stop()
            self.report(ConversationEvent.END_RECEIVED)

    def peer_error(self, message: Message, position: int, subclass: ConversationEvent) -> None:
        """Process an Error from the other side or from its broker."""
        header, dialog = message.header, self.dialog
        if not header.is_a(Flag.ERROR) or not move_state(dialog, Input.PEER_ERROR):
            return
        if self._ends_in_error():
            number = header.sequence if header.sequenced else dialog.receive_sequence
            self.parking.show(message, number, (position,))
        self.report(subclass)

    # --- by an error of our own ------------------------------------------------------------------

    def fail(self, number: Number) -> None:
        """Report to the application why the dialog failed, unless the application has ended it."""
        if self._ends_in_error():
            self.parking.show_own(-number)
        self.report(ConversationEvent.BROKER_INITIATED_ERROR, number)

    def refuse(self, message: Message, refusal: RefusalNumbers) -> None:
        """Acknowledge the message, but end the dialog in error on both sides (5.3)."""
        dialog = self.dialog
        self.effects.append(not_kept(refusal.number, message))
        dialog.deaf_from = message.header.sequence
        dialog.refusal = int(refusal.error)
        move_state(dialog, Input.REFUSED)
        self.notify_peer(refusal.error, message.journey.attempt)
        self.fail(refusal.own or refusal.error)

    def reject_late(self, message: Message) -> bool:
        """Reject a message for a closed endpoint; return whether to acknowledge it (U-30).

        A closed endpoint acknowledges every message that still arrives, in order or not. SQL Server
        has no endpoint after CLEANUP, so the other side gets an Error (-8462).
        """
        dialog, removed = self.dialog, Number.REMOTE_CANNOT_EXCHANGE
        self.effects.append(not_kept(Number.ENDPOINT_CLOSED, message))
        if dialog.refusal == removed:
            self.notify_peer(removed, message.journey.attempt)
            return False
        dialog.received = max(dialog.received, message.header.after)
        return True

    def repeat_refusal(self, message: Message) -> None:
        """Send the Error again: the peer might have missed it, because Errors are not retried."""
        if self.dialog.state is State.ER and self.dialog.refusal:
            self.notify_peer(Number(self.dialog.refusal), message.journey.attempt)

    def broker_error(self, number: Number, peer_number: Number | None = None) -> None:
        """End with an Error created by this broker; if it has a number, notify the other side."""
        if move_state(self.dialog, Input.BROKER_ERROR):
            if peer_number is not None:
                self.notify_peer(peer_number, 0)
                self.dialog.refusal = int(peer_number)
            self.fail(number)

    def terminate(self, number: Number, peer_number: Number | None = None) -> None:
        """Remove the dialog without an Error on this side; notify the other side, if requested."""
        if move_state(self.dialog, Input.CLEANUP):
            if peer_number is not None:
                self.notify_peer(peer_number, 0)
            self.forget()
            self.report(ConversationEvent.TERMINATED, number)

    def _ends_in_error(self) -> bool:
        """Stop sending and receiving; return whether an application must be notified."""
        self.receiver.forget_incomplete()
        if self.dialog.state is State.ER:
            self.sender.stop()
            return True
        self.sender.discard()
        self.close()
        return False

    def notify_peer(self, number: Number, attempt: int) -> None:
        """Send the other side an Error, if its broker id is known."""
        broker = self.dialog.far_broker
        if broker is not None:
            self.effects.append(SendError(number, broker, attempt))

    def report(self, subclass: ConversationEvent, error: int = 0) -> None:
        """Report the new state of the conversation."""
        self.effects.append(Report(EventKind.CONVERSATION, subclass, error))

    # --- the key of a closed endpoint ------------------------------------------------------------

    def close(self, *, tell: bool = True) -> None:
        """Start to close the endpoint; an initiator reports this if ``tell`` is set."""
        dialog, limits = self.dialog, self.limits
        dialog.closed_at, dialog.timer_at = self.now, None
        self.receiver.forget_incomplete()
        dialog.received = (dialog.received[0], 0)
        if dialog.is_initiator:
            dialog.forget_at = self.now + limits.closed_initiator
            if tell and dialog.send_sequence:
                self._tell_closed()
        elif dialog.peer_closed:
            dialog.forget_at = self.now + limits.late
        else:
            dialog.forget_at = max(dialog.expires_at, self.now) + limits.late
            dialog.attempt, dialog.retry_at = 0, self.now + limits.ask_after(0)

    def peer_closed(self) -> None:
        """Record that the other side is closed, so only copies in flight can still arrive."""
        dialog = self.dialog
        if not dialog.peer_closed:
            dialog.peer_closed = True
            if dialog.state is State.CD:
                dialog.forget_at, dialog.retry_at = self.now + self.limits.late, None

    def ask(self) -> None:
        """Repeat the last acknowledgement, to which a closed initiator replies that it is closed.

        Without such a request, the initiator reports its close only once. If that report is lost
        and never repeated, the target keeps its key for the whole lifetime of the dialog.
        """
        dialog = self.dialog
        dialog.attempt += 1
        dialog.count_lost_acks()
        dialog.retry_at = self.now + self.limits.ask_after(dialog.attempt)
        self.receiver.owe(0, dialog.first_hop)

    def _tell_closed(self) -> None:
        """Report the close in reply to the closing frame, or to the last address that worked."""
        if self.receiver.owed is None:
            self.receiver.owe(0, self.dialog.first_hop)
