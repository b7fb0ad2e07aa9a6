"""Call a message's handler until it succeeds (reference 4.11, 4.12).

An exception causes a rollback. The fifth rollback in a row disables the queue, and the message
remains in it. The handler is retried when the queue is enabled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from streams.agents.dialog import Dialog, NotConfirmedError, Saying
from streams.client.queues import QueueSettings
from streams.client.receiver import Received
from streams.node.queue import POISON

Handler = Callable[[Dialog, Received], Awaitable[None]]
"""A service's handler, which must be idempotent for the same message."""

log = logging.getLogger("hopline.agents")

_LOOK = 0.5
"""Seconds between checks whether a disabled queue has been enabled again."""
_AGAIN = 0.1
"""Seconds until a failed handler is retried. On a queue without poison message handling, a handler
that fails immediately would otherwise starve the other tasks of the event loop.
"""


async def attempt(
    handler: Handler,
    message: Received,
    settings: QueueSettings,
    begin: Callable[[], Saying],
    rollbacks: int,
    keep: Callable[[int], Awaitable[None]],
) -> None:
    """Run the handler until it succeeds and its statements are confirmed; retry after rollbacks.

    ``rollbacks`` is the number of earlier rollbacks; ``keep`` persists the count.
    """
    while True:
        # Enabling the queue resets the count, so a count that has reached the limit is obsolete.
        if await _was_off(settings) or rollbacks >= POISON:
            rollbacks = 0
        saying = begin()
        try:
            await handler(Dialog.of(message, saying), message)
        except NotConfirmedError:
            raise
        except Exception:
            log.exception("%s: rolled back", message.conversation)
            rollbacks += 1
            await keep(rollbacks)
            if settings.poison_handling and rollbacks >= POISON:
                await asyncio.to_thread(settings.disable)
            await asyncio.sleep(_AGAIN)
        else:
            await saying.commit()
            return


async def _was_off(settings: QueueSettings) -> bool:
    """Wait until the queue is enabled; return True if it was disabled at first."""
    settings.look()
    if settings.status:
        return False
    log.warning("the queue is off: ALTER QUEUE ... WITH STATUS = ON")
    while not settings.status:
        await asyncio.sleep(_LOOK)
        settings.look()
    return True
