"""Process each message once, in one transaction with the application's own rows.

::

    for message in receiver.receive(timeout=1.0):
        with Session(engine) as session, session.begin():
            if Inbox(session).is_new(message):
                session.add(Order.from_xml(message.body))
    receiver.commit()

A process that is killed between the two commits receives the message again, and finds it in the
inbox.
"""

from __future__ import annotations

import time
from typing import Any

from streams.client.outbox import Executes
from streams.client.receiver import Received
from streams.outbox.inbox import METADATA, Entry, addition, removal

__all__ = ["METADATA", "Inbox"]


class Inbox:
    """The messages that one reader (an application, under its own name) has processed."""

    def __init__(self, session: Executes, reader: str = "") -> None:
        self._session, self._reader = session, reader

    def is_new(self, message: Received) -> bool:
        """Record a message in the session's transaction; return ``False`` if it was processed
        before.

        If another process is processing the message, wait until that process has committed or
        rolled back.
        """
        header, on = message.frame.header, message.conversation
        entry = Entry(
            self._reader, on.id, on.is_initiator, header.sequence, header.message_id, _now()
        )
        added = self._session.execute(addition(entry, self._dialect()))
        return added.first() is not None

    def forget(self, days: float = 7) -> int:
        """Delete entries older than ``days``; return the number of deleted rows.

        ``days`` must be longer than a receiving process can ever be suspended.
        """
        before = _now() - int(days * 86_400)
        return int(self._session.execute(removal(self._reader, before)).rowcount)

    def _dialect(self) -> str:
        session: Any = self._session
        bind = session.get_bind() if hasattr(session, "get_bind") else session
        return str(bind.dialect.name)


def _now() -> int:
    return int(time.time())
