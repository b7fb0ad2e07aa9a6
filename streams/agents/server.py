"""The agent of a queue: it reads the topic, one message after the other, and calls the handler."""

from __future__ import annotations

import asyncio
import functools
import logging
import uuid
from typing import TYPE_CHECKING

import faust
from faust.types import Message, StreamT

from streams.agents.attempt import Handler, attempt
from streams.agents.dialog import Saying
from streams.agents.served import Served, locate
from streams.client.conversation import Conversation
from streams.client.receiver import Received
from streams.kafka import topic_id
from streams.protocol import Cause, Source
from streams.wire import MalformedError
from streams.wire.partition import partition_of
from streams.wire.records import read_queued

if TYPE_CHECKING:
    from streams.agents.application import HoplineApp

log = logging.getLogger("hopline.agents")


class QueueTopic(faust.Topic):
    """The topic of a queue, which the catalog names at start; only ``apply`` creates any."""

    async def declare(self) -> None:
        """Leave it alone."""


class Server:
    """Serve the services that have one queue, with one handler."""

    def __init__(
        self, app: HoplineApp, handler: Handler, services: tuple[str, ...], contract: str | None
    ) -> None:
        self._app, self._handler = app, handler
        self._services, self._contract = services, contract
        # Until the catalog is read: no topic's name, so whoever used it too early would be told.
        self._channel = QueueTopic(
            app,
            topics=[services[0]],
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
        )
        self._served: Served | None = None
        self._id, self._generation = uuid.UUID(int=0), -1

        @functools.wraps(handler)
        async def agent(stream: StreamT[bytes]) -> None:
            async for event in stream.events():
                try:
                    await self._take(event.message)
                except Exception as error:  # Faust would go on with the next message
                    await app.give_up(error)

        del agent.__wrapped__  # Faust would look at its annotations
        app.agent(self._channel, concurrency=1)(agent)

    @property
    def topic(self) -> str:
        """Return the queue's topic, once it is known."""
        return self._known.topic

    def locate(self) -> None:
        """Find the queue in the catalog; waits for Kafka."""
        app = self._app
        self._served = locate(
            app.cluster, app.instance, app.database, self._services, self._contract
        )
        self._channel.topics = [self._served.topic]

    @property
    def _known(self) -> Served:
        assert self._served is not None, "the application has started"
        return self._served

    async def _take(self, message: Message) -> None:
        """Deal with a message, all that it causes included, and only then let it be committed."""
        app, known = self._app, self._known
        received = self._read(message)
        if received is not None:
            topic = await self._topic_id(message)
            source = Source(app.conf.id, self._services[0], topic, message.partition)
            cause = Cause(source, message.offset)
            begin = functools.partial(Saying, cause, self._place_of, app.confirm)
            await attempt(self._handler, received, known.settings, begin)
        app.consumer.finish(message)  # type: ignore[attr-defined]

    async def _topic_id(self, message: Message) -> uuid.UUID:
        """Return the id of the queue's topic, asked for anew after each rebalance."""
        generation = message.generation_id or 0
        if generation != self._generation:
            self._id = await asyncio.to_thread(topic_id, self._app.cluster, self.topic)
            self._generation = generation
        return self._id

    def _read(self, message: Message) -> Received | None:
        """Return what a record says; ``None``: nothing to us."""
        try:
            frame = read_queued(message.value, list(message.headers or ()))  # type: ignore[arg-type]
        except MalformedError as error:  # nobody but the endpoint worker writes a queue
            log.error("%s/%d@%d: %s", self.topic, message.partition, message.offset, error)
            return None
        if frame.parties.to_service not in self._services:
            return None
        app, is_initiator = self._app, not frame.parties.from_initiator
        side = Conversation(app.instance, app.database, frame.conversation, is_initiator)
        return Received(side, frame, message.partition, message.offset)

    def _place_of(self, conversation: uuid.UUID) -> int:
        return partition_of(conversation, self._known.places)
