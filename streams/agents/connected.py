"""A Faust application with its cluster, instance and database, for its driver and servers."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import faust

from streams.agents.dialog import NotConfirmedError
from streams.client.begin import Begin
from streams.kafka import Cluster
from streams.protocol import StatementIds
from streams.wire.records import Wire


class ConnectedApp(faust.App):
    """An application in one database of a cluster."""

    def __init__(
        self, name: str, *, cluster: Cluster, instance: str, database: str, **options: Any
    ) -> None:
        super().__init__(name, **options)
        self.cluster, self.instance, self.database = cluster, instance, database
        self.begin: Begin | None = None
        """The start position for a group without offsets."""
        self._ids: StatementIds | None = None

    @property
    def ids(self) -> StatementIds:
        """Return the object that derives statement ids; it exists only once the secret is known."""
        assert self._ids is not None, "the application has started"
        return self._ids

    async def confirm(self, record: Wire) -> None:
        """Send a command and wait until Kafka confirms it; raise NotConfirmedError otherwise."""
        key, value, headers = record
        topic = self.cluster.topics.cmd(self.instance)
        try:
            await self.producer.send_and_wait(
                topic,
                key,
                value,
                None,
                None,
                headers,  # type: ignore[arg-type]
            )
        except Exception as error:
            raise NotConfirmedError(
                f"{topic}: Kafka did not accept a command: {error}.",
                "It is sent again at the next start.",
            ) from error

    async def give_up(self, error: Exception) -> NoReturn:
        """Stop the worker; unfinished messages are redelivered."""
        await self.crash(error)
        await asyncio.get_running_loop().create_future()
        raise AssertionError("the future is never set")
