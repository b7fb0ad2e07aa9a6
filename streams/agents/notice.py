"""The configuration service on Kafka (reference 2.5): it creates routes that databases request.

The caller provides the answers; this module handles the dialogs. If the directory or Kafka is
unavailable, this does not count as a failure of the message, because the fifth failure would
disable the queue. The service waits, and so do the dialogs that need the route.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from streams.agents.application import HoplineApp, hopline_app
from streams.agents.dialog import Dialog
from streams.client.receiver import Received
from streams.errors import SurroundingsError
from streams.kafka import KafkaException
from streams.system_names import CONFIGURATION_SERVICE, NOTICE
from streams.wire import Topics

T = TypeVar("T")

PURGE_EVERY = 300.0
"""Seconds between checks for expired routes."""
_FIRST, _LONGEST = 0.5, 30.0
"""Seconds before the first retry, and the maximum delay."""

log = logging.getLogger("hopline.notice")


class Answers(Protocol):
    """Answer requests; both methods wait, and raise transient errors of unavailable resources."""

    def answer(self, broker: str, body: bytes) -> tuple[int, str] | None:
        """Answer the database with this broker id; return an error's code and text, or ``None``."""

    def purge(self) -> None:
        """Drop routes that have expired."""


def notice_app(
    instance: str,
    database: str,
    answers: Answers,
    *,
    prefix: str = "ssb.",
    purge_every: float = PURGE_EVERY,
    **options: Any,
) -> HoplineApp:
    """Return the application that answers for the configuration service of a database.

    ``options`` are hopline_app's.
    """
    name = Topics(prefix).name("configuration", instance, database)
    app = hopline_app(name, instance=instance, database=database, prefix=prefix, **options)

    @app.service(CONFIGURATION_SERVICE, contract=NOTICE)
    async def configure(dialog: Dialog, message: Received) -> None:
        refusal = None
        if not message.ends_dialog:
            broker = message.frame.parties.from_broker
            refusal = await _patiently(lambda: answers.answer(broker, message.body))
        await dialog.end(error=refusal)

    async def purge() -> None:
        try:
            await asyncio.to_thread(answers.purge)
        except (SurroundingsError, KafkaException) as error:
            log.info("Expired routes will be dropped later: %s", error)

    app.timer(purge_every)(purge)
    return app


async def _patiently(call: Callable[[], T]) -> T:
    """Repeat a call until it succeeds, however long its resource is unavailable."""
    wait = _FIRST
    while True:
        try:
            return await asyncio.to_thread(call)
        except (SurroundingsError, KafkaException) as error:
            log.warning("%s\n  Next attempt in %g s.", error, wait)
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST)
