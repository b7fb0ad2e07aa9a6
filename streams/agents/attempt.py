"""A message and its handler: again and again until it is done (reference 4.11, 4.12).

An exception is a rollback. :class:`~streams.node.queue.Queue` says what that means: the fifth in a
row turns the queue off, and the message stays. It is tried again when somebody has turned the queue
on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from streams.agents.dialog import Dialog, NotConfirmedError, Saying
from streams.client.queues import QueueSettings
from streams.client.receiver import Received
from streams.node import Queue, Row

Handler = Callable[[Dialog, Received], Awaitable[None]]
"""What a service does with a message; the same for the same message, whenever it is called."""

log = logging.getLogger("hopline.agents")

_HOLDER = "agent"
_LOOK = 0.5
"""Seconds between two looks whether a queue is on again."""
_AGAIN = 0.1
"""Seconds until a handler that has failed is called again: others need the event loop too, and one
that fails at once, on a queue without poison message handling, would never let them have it."""


async def attempt(
    handler: Handler, message: Received, settings: QueueSettings, begin: Callable[[], Saying]
) -> None:
    """Return when a message was handled and what its handler has said is confirmed."""
    queue = Queue()
    queue.put(_row(message))
    while True:
        await _until_on(queue, settings)
        queue.receive(_HOLDER)
        saying = begin()
        try:
            await handler(Dialog.of(message, saying), message)
        except NotConfirmedError:
            raise
        except Exception:
            log.exception("%s: rolled back", message.conversation)
            queue.rollback(_HOLDER)
            if not queue.on:
                await asyncio.to_thread(settings.disable)
            await asyncio.sleep(_AGAIN)
        else:
            await saying.commit()
            return


async def _until_on(queue: Queue, settings: QueueSettings) -> None:
    settings.look()
    if not settings.status:
        log.warning("the queue is off: ALTER QUEUE ... WITH STATUS = ON")
    while not settings.status:
        await asyncio.sleep(_LOOK)
        settings.look()
    queue.poison_handling = settings.poison_handling
    if not queue.on:
        queue.turn_on()


def _row(message: Received) -> Row:
    side = (message.conversation.id, message.conversation.is_initiator)
    return Row(message.offset, message.conversation.id, side, message.type)
