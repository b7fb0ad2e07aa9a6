"""Lock a dialog to the broker of the first frame, and reject other brokers (3.3, 3.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streams.errors.event_kinds import EventKind
from streams.errors.numbers import Number
from streams.protocol.dialog import Dialog
from streams.protocol.effects import Effect, Report, SendError, undeliverable
from streams.protocol.frames import Header, Message, Parties

_NO_SUCH_SERVICE = b"<Code>-%d</Code>" % Number.REMOTE_SERVICE_MISSING


@dataclass(slots=True)
class Lock:
    """Lock a dialog to one broker id; ``key`` returns the comparable form of ids (U-02)."""

    dialog: Dialog
    key: Callable[[str], str]
    effects: list[Effect]

    def ignores(self, message: Message) -> bool:
        """Return whether an Error -8490 does not end the dialog, because BEGIN named no broker id.

        The broker id on the message is then that of a route, and the service may be created later.
        """
        if self.dialog.far_broker is not None or message.header.sequenced:
            return False
        return _NO_SUCH_SERVICE in message.body

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
