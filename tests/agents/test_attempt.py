"""A message and a handler that fails, without Kafka."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, cast

from streams.agents.attempt import attempt
from streams.agents.dialog import Saying
from streams.client import Conversation, Received
from streams.client.queues import QueueSettings
from streams.protocol import DEFAULT, Cause, Header, Journey, Message, Parties, Source

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
    return Saying(Cause(source, 0), lambda _: 0, cast(Any, None))


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
