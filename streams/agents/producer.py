"""Faust's producer, made idempotent; it tracks table rows that Kafka has not confirmed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from faust.transport.drivers import aiokafka
from faust.types import FutureMessage

from streams.agents.dialog import NotConfirmedError


class Producer(aiokafka.Producer):
    """Write each record once, in order, and track unconfirmed records of ``send_soon``."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._soon: set[FutureMessage] = set()

    def send_soon(self, fut: FutureMessage) -> None:
        """Send a record in the background, for example a record of a table."""
        self._soon.add(fut)
        fut.add_done_callback(self._sent)
        super().send_soon(fut)

    def _sent(self, fut: asyncio.Future[Any]) -> None:
        if not fut.cancelled() and fut.exception() is None:
            self._soon.discard(cast(FutureMessage, fut))

    async def settle(self) -> bool:
        """Wait until Kafka has confirmed all records; return ``False`` if stopped before.

        Raises NotConfirmedError if Kafka has rejected a record, and in every later call.
        """
        if self._soon:
            await self.wait_many(tuple(self._soon))
        for error in (fut.exception() for fut in self._soon if fut.done()):
            raise NotConfirmedError(
                f"Kafka did not accept a change to a table: {error}.",
                "Its message is redelivered at the next start.",
            )
        return not self._soon

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}
