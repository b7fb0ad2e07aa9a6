"""Turn the steps of a scenario into commands of ``protocol``; only this module creates commands."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from itertools import count
from typing import Any

from streams import services
from streams.node import QueueMessage
from streams.protocol import Command, CommandKind
from streams.simulator.scenario import Application, Begin, End, Move, Send, Statement, Timer

_DIALOGS = uuid.UUID("0d9f7c52-5d1a-5f0e-8f5e-2d6f4a3b9c11")


class Statements:
    """Number the commands of a run, and name its conversations."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._numbers = count(1)

    def begin(self, step: Begin, now: int, related: uuid.UUID | None = None) -> Iterator[Command]:
        """BEGIN DIALOG CONVERSATION once or several times; ``now`` is the instance's clock."""
        for number in range(step.count):
            yield self._begin(step, number, now, related)

    def _begin(self, step: Begin, number: int, now: int, related: uuid.UUID | None) -> Command:
        name = f"{self._seed}/{step.dialog}/{number}"  # a different id for every seed
        return Command(
            step.conversation or uuid.uuid5(_DIALOGS, name),
            self._id(),
            CommandKind.BEGIN,
            step.database,
            issued_at=now,
            from_service=step.service,
            to_service=step.to,
            to_broker=step.broker,
            contract=step.contract,
            lifetime=step.lifetime,
            group=step.group,
            related=related,
        )

    def commands(
        self, step: Statement, conversation: uuid.UUID, database: str, initiator: bool, now: int
    ) -> Iterator[Command]:
        """Return the commands of a step on a conversation."""
        about = (conversation, database, initiator, now)
        match step:
            case Send():
                yield from self.send(step, *about)
            case End():
                yield self.end(step, *about)
            case Timer():
                yield self._other(CommandKind.TIMER, *about, timeout=step.timeout)
            case Move():
                yield self._other(CommandKind.MOVE, *about, group=step.group)

    def send(
        self, step: Send, conversation: uuid.UUID, database: str, initiator: bool, now: int
    ) -> Iterator[Command]:
        """SEND ON CONVERSATION, as many times as the step states."""
        for number in range(step.count):
            yield Command(
                conversation,
                self._id(),
                CommandKind.SEND,
                database,
                initiator,
                now,
                type=step.type,
                body=(step.body if step.count == 1 else f"{step.body} {number}").encode(),
            )

    def end(
        self, step: End, conversation: uuid.UUID, database: str, initiator: bool, now: int
    ) -> Command:
        """END CONVERSATION."""
        code, text = step.error or (None, None)
        return Command(
            conversation,
            self._id(),
            CommandKind.END,
            database,
            initiator,
            now,
            error_code=code,
            error_text=text,
            cleanup=step.cleanup,
        )

    def answer(self, to: QueueMessage, kind: CommandKind, now: int, **fields: object) -> Command:
        """Return a statement of the application that has received a message."""
        mine = not to.parties.from_initiator
        return Command(
            to.conversation, self._id(), kind, to.database, mine, now, **fields  # type: ignore[arg-type]
        )  # fmt: skip

    def act(self, action: services.Action, application: Application, now: int) -> Command:
        """Return a statement of a service that is included in Hopline and has its own ids."""
        fields: dict[str, Any]
        match action:
            case services.Begin():
                kind = CommandKind.BEGIN
                fields = {
                    "from_service": application.service,
                    "to_service": action.to_service,
                    "contract": action.contract,
                    "related": action.related.conversation,
                }
            case services.Send():
                kind, fields = CommandKind.SEND, {"type": action.type, "body": action.body}
            case services.End(code=None):
                kind, fields = CommandKind.END, {}
            case services.End():
                kind = CommandKind.END
                fields = {"error_code": action.code, "error_text": action.text}
        handle, database = action.handle, application.database
        return Command(
            handle.conversation,
            action.command_id,
            kind,
            database,
            handle.is_initiator,
            now,
            **fields,
        )

    def _other(
        self,
        kind: CommandKind,
        conversation: uuid.UUID,
        database: str,
        initiator: bool,
        now: int,
        **fields: object,
    ) -> Command:
        return Command(
            conversation, self._id(), kind, database, initiator, now, **fields  # type: ignore[arg-type]
        )  # fmt: skip

    def _id(self) -> uuid.UUID:
        return uuid.UUID(int=next(self._numbers))
