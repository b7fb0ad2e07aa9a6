"""A message and a handler that fails, without Kafka."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from streams.agents import Dialog
from streams.agents.attempt import attempt
from streams.agents.dialog import Saying
from streams.client import Conversation, Received
from streams.client.queues import QueueSettings
from streams.protocol import DEFAULT, Cause, Header, Journey, Message, Parties, Source, StatementIds
from streams.wire.records import LARGEST_BODY, Wire

ID = uuid.UUID(int=1)
PARTIES = Parties("Orders", "B", "Web", "A", DEFAULT, True)
FRAME = Message(ID, PARTIES, Header(ID, DEFAULT, 0, 0, 1 << 47), Journey(0, 0, 0, 0), b"")
MESSAGE = Received(Conversation("ServerB", "DatabaseB", ID, is_initiator=False), FRAME, 0, 0)


class Tolerant:
    """Settings of a queue that stays on whatever happens."""

    status, poison_handling = True, False

    def look(self) -> None:
        """Find nothing new."""


def saying() -> Saying:
    source = Source("app", "Orders", ID, 0)
    ids = StatementIds(bytes(32))
    return Saying(Cause(source, 0), ids, lambda _: 0, cast(Any, None))


def test_a_handler_that_always_fails_at_once_lets_others_have_the_loop() -> None:
    """A signal handler is such another: the application could not be stopped."""
    calls, others = 0, []

    async def handler(*_: object) -> None:
        nonlocal calls
        calls += 1
        if not others and calls < 100:
            raise ValueError("poison")

    async def forget(_: int) -> None: ...

    async def run() -> None:
        asyncio.get_running_loop().call_soon(others.append, "another")
        await attempt(handler, MESSAGE, cast(QueueSettings, Tolerant()), saying, 0, forget)

    asyncio.run(run())
    assert calls == 2


Statement = Callable[[Any], Awaitable[object]]


@pytest.mark.parametrize(
    "statement",
    [
        lambda dialog: dialog.end(error=(1, "no such order: \ud800")),
        lambda dialog: dialog.end(error=(2**63, "no")),
        lambda dialog: dialog.end(error=(2**31, "no")),
        lambda dialog: dialog.end(error=("x", "no")),
        lambda dialog: dialog.end(error=(1, "x" * 16_385)),
        lambda dialog: dialog.end(error=(1, "x" * 2_500_000)),
        lambda dialog: dialog.timer(2**63),
        lambda dialog: dialog.timer(1e3),
        lambda dialog: dialog.begin("\udc00"),
        lambda dialog: dialog.begin("Stock", broker="x" * 16_385),
        lambda dialog: dialog.send(b"", type="\ud83d"),
        lambda dialog: dialog.send("text"),
        lambda dialog: dialog.send(memoryview(bytes(LARGEST_BODY + 8)).cast("q")),
        lambda dialog: dialog.send(bytes(LARGEST_BODY), type="x" * 16_385),
        lambda dialog: dialog.move("group"),
        lambda dialog: dialog.on("\udc00", is_initiator=True).end(),
    ],
)
def test_a_statement_that_no_worker_can_read_is_a_rollback(statement: Statement) -> None:
    """It never reaches Kafka, and does not end the process."""
    sent, kept = list[Wire](), list[int]()

    async def confirm(record: Wire) -> None:
        sent.append(record)

    def begin() -> Saying:
        cause = Cause(Source("app", "Orders", ID, 0), 0)
        return Saying(cause, StatementIds(bytes(32)), lambda _: 0, confirm)

    async def handler(dialog: Dialog, _: Received) -> None:
        await dialog.send(bytearray(b"answer"))
        if len(kept) < 2:
            await statement(dialog)

    async def keep(rollbacks: int) -> None:
        kept.append(rollbacks)

    settings = cast(QueueSettings, Tolerant())
    asyncio.run(attempt(handler, MESSAGE, settings, begin, 0, keep))
    assert kept == [1, 2]
    assert [value for _, value, _ in sent] == [b"answer"]
