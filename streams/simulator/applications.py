"""Simulated applications, which react to messages in a queue.

An application's reading position and its commands become durable together, so a turn is atomic. A
turn always runs to its end, so crashes of applications need not be simulated.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from streams.node import QueueMessage
from streams.protocol import CommandKind, Flag
from streams.simulator.clock import MILLISECOND, SECOND, Alarm, Chance
from streams.simulator.instance import Instance
from streams.simulator.scenario import Application, Does
from streams.simulator.services import ConfigurationService, DataDependent
from streams.simulator.statements import Statements

THINK = 5 * MILLISECOND
"""Maximum time before an application checks for new messages."""


def confirmed(message: QueueMessage) -> bool:
    """Return whether a message proves that its sender, the initiator, is locked to the receiver.

    Messages that were sent after the lock prove it. Messages that were sent before the first
    acknowledgement prove nothing, regardless of their number.
    """
    return message.parties.locked


class Reader:
    """One application, which reads one queue from its start."""

    def __init__(
        self,
        application: Application,
        instance: Instance,
        queue: str,
        statements: Statements,
        chance: Chance,
    ) -> None:
        self._application = application
        self._instance = instance
        self._statements = statements
        self._chance = chance
        self._queue = instance.store(application.database).queues.setdefault(
            f"{application.database}/{queue}", []
        )
        self._position = 0
        self._replies = 0
        self._acted: dict[uuid.UUID, None] = {}
        self._alarm = Alarm(instance.around.clock, self._turn)
        service = DataDependent(application, instance, statements)
        self._does: dict[Does, Callable[[QueueMessage], None]] = {
            Does.REPLY: self._reply,
            Does.ACT: self._act_on_first,
            Does.HANDSHAKE: self._shake_hands,
            Does.END: self._end,
            Does.CLOSE: self._close,
            Does.ROUTE: service.route,
            Does.REDIRECT: service.redirect,
            Does.CONFIGURE: ConfigurationService(application, instance, statements).configure,
        }

    def wake(self) -> None:
        """Schedule a turn for new messages."""
        self._alarm.set(self._instance.around.clock.now + self._chance.below(THINK))

    def _turn(self) -> None:
        while self._position < len(self._queue):
            message = self._queue[self._position]
            self._position += 1
            if message.parties.to_service == self._application.service:
                for does in self._application.does:
                    self._does[does](message)

    def _reply(self, message: QueueMessage) -> None:
        limit = self._application.limit
        if _is_over(message) or (limit is not None and self._replies >= limit):
            return
        self._replies += 1
        self._send(message)

    def _send(self, to: QueueMessage) -> None:
        fields = {"type": self._application.type, "body": self._application.body.encode()}
        now = self._instance.now
        self._instance.command(self._statements.answer(to, CommandKind.SEND, now, **fields))

    def _end(self, message: QueueMessage) -> None:
        if _is_over(message):
            now = self._instance.now
            self._instance.command(self._statements.answer(message, CommandKind.END, now))

    def _close(self, message: QueueMessage) -> None:
        if message.header.sequence == 0 and not _is_over(message):
            now = self._instance.now
            self._instance.command(self._statements.answer(message, CommandKind.END, now))

    def _act_on_first(self, message: QueueMessage) -> None:
        if message.header.sequence == 0 and not _is_over(message):
            self._act(message)

    def _shake_hands(self, message: QueueMessage) -> None:
        if _is_over(message):
            return
        if message.header.sequence == 0:
            self._send(message)
        if confirmed(message) and message.conversation not in self._acted:
            self._acted[message.conversation] = None
            self._act(message)

    def _act(self, message: QueueMessage) -> None:
        around = self._instance.around
        around.facts.acts.append(
            {
                "at": around.clock.now / SECOND,
                "instance": self._instance.name,
                "database": message.database,
                "service": self._application.service,
                "conversation": str(message.conversation),
                "sequence": message.header.sequence,
            }
        )


def _is_over(message: QueueMessage) -> bool:
    return bool(message.header.flags & (Flag.END | Flag.ERROR))
