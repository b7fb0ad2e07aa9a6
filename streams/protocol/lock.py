"""Lock a dialog to the broker of the first frame, and reject other brokers (3.3, 3.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streams.errors.event_kinds import EventKind
from streams.errors.numbers import Number
from streams.protocol.dialog import Dialog
from streams.protocol.effects import Effect, Report, SendError, not_kept, undeliverable
from streams.protocol.frames import Header, Message, Parties

_MISSING = int(Number.REMOTE_SERVICE_MISSING)
_NO_SUCH_SERVICE = b"<Code>-%d</Code>" % _MISSING


@dataclass(slots=True)
class Lock:
    """Lock a dialog to one broker id; ``key`` returns the comparable form of ids (U-02)."""

    dialog: Dialog
    key: Callable[[str], str]
    effects: list[Effect]

    def waits(self, message: Message, now: int, again: int) -> bool:
        """Return whether an Error -8490 of the other side does not end the dialog (decision 57).

        If BEGIN named no broker id, the id on the message is that of a route, and the service may
        be created later. If the other side has the dialog, the Error is older. And the first Error
        becomes only the dialog's status, because the target may not know yet of a new service: only
        one that arrives at least ``again`` milliseconds later ends the dialog.
        """
        dialog, parties = self.dialog, message.parties
        if message.header.sequenced or _NO_SUCH_SERVICE not in message.body:
            return False
        far, waits = dialog.far_broker, True
        if far is not None and (
            self.key(far) != self.key(parties.from_broker or "")
            or parties.from_service != dialog.far_service
        ):
            return False  # it is rejected
        if far is not None and dialog.acknowledged == dialog.received == (0, 0):
            if dialog.retry_at is None:
                return False
            if dialog.status != _MISSING:
                dialog.status, dialog.status_at, dialog.suspect = _MISSING, now, dialog.transmitted
            else:
                waits = now < dialog.status_at + again
        if waits:
            self.effects.append(not_kept(Number.REMOTE_SERVICE_MISSING, message))
        return waits

    def admits(self, parties: Parties, header: Header | None, attempt: int) -> bool:
        """Return whether a frame is from the other side; lock to the sender of the first frame.

        ``header`` is ``None`` for an acknowledgement. The sender of a rejected frame gets an Error
        (8495), unless the frame is forged, that is, names a service other than the dialog's.
        """
        dialog, broker = self.dialog, parties.from_broker
        if parties.from_service != dialog.far_service:
            self._report(header, attempt, broker)
            return False
        far = dialog.far_broker
        if far is not None and (far == broker or self.key(far) == self.key(broker)):
            if not dialog.locked:
                self._lock(broker)
            if not dialog.is_initiator and parties.locked:
                dialog.confirmed = True
            return True
        if dialog.is_initiator and not dialog.locked and dialog.far_broker is None:
            self._lock(broker)
            return True
        self._refuse(header, attempt, broker)
        return False

    def _lock(self, broker: str) -> None:
        dialog = self.dialog
        dialog.far_broker, dialog.locked, dialog.confirmed = broker, True, True
        self.effects.append(Report(EventKind.REMOTE_MESSAGE_ACKNOWLEDGEMENT, 4, from_broker=broker))

    def _refuse(self, header: Header | None, attempt: int, broker: str) -> None:
        self._report(header, attempt, broker)
        is_broker_error = header is not None and not header.sequenced
        if self.dialog.is_initiator and not is_broker_error:  # a broker Error never gets a reply
            self.effects.append(SendError(Number.ANOTHER_INSTANCE_ACKNOWLEDGED, broker, attempt))

    def _report(self, header: Header | None, attempt: int, broker: str) -> None:
        another = Number.ANOTHER_INSTANCE_CONVERSES
        self.effects.append(undeliverable(another, header, attempt, broker))
