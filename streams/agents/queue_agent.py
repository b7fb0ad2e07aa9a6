"""The agent of a queue: read the topic in order and call the handler."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
import uuid

import faust
from faust.types import Message, StreamT

from streams.agents.attempt import Handler, attempt
from streams.agents.connected import ConnectedApp
from streams.agents.dialog import Saying
from streams.agents.driver import consumer_of
from streams.agents.locate_queue import Served, locate
from streams.agents.polls import BUFFERED
from streams.client.conversation import Conversation
from streams.client.receiver import Received
from streams.errors import SurroundingsError
from streams.kafka import KafkaException, find_topic_id
from streams.protocol import Cause, Source
from streams.wire import MalformedError
from streams.wire.partition import partition_of
from streams.wire.records import read_queued

log = logging.getLogger("hopline.agents")

_LOOK_BUSY, _LOOK_IDLE = 1.0, 5.0
"""Seconds between checks whether the queue's topic was recreated."""


class QueueTopic(faust.Topic):
    """The topic of a queue, found in the catalog at the start; only ``apply`` creates topics."""

    async def declare(self) -> None:
        """Do nothing."""


class Server:
    """Serve the services of one queue with one handler."""

    def __init__(
        self, app: ConnectedApp, handler: Handler, services: tuple[str, ...], contract: str | None
    ) -> None:
        self._app, self._handler = app, handler
        self._services, self._contract = services, contract
        # Until the catalog is read, this is not a valid topic name, so any use of it would fail.
        self._channel = QueueTopic(
            app,
            topics=[services[0]],
            key_type=bytes,
            value_type=bytes,
            key_serializer="raw",
            value_serializer="raw",
            maxsize=BUFFERED,
        )
        self._served: Served | None = None
        self._looked = 0.0

        @functools.wraps(handler)
        async def agent(stream: StreamT[bytes]) -> None:
            async for event in stream.events():
                try:
                    await self._take(event.message)
                except Exception as error:  # otherwise Faust would continue with the next message
                    await app.give_up(error)

        del agent.__wrapped__  # otherwise Faust would read its annotations
        app.agent(self._channel, concurrency=1)(agent)
        app.timer(_LOOK_IDLE)(self._watch)

    @property
    def topic(self) -> str:
        """Return the queue's topic, once it is known."""
        return self._known.topic

    @property
    def queue(self) -> str:
        """Return the queue's name, once it is known."""
        return self._known.queue

    @property
    def partitions(self) -> int:
        """Return the number of partitions of the queue, once it is known."""
        return self._known.partitions

    def locate(self) -> None:
        """Find the queue in the catalog; wait for Kafka."""
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
        """Process a message with all its effects, and only then allow its commit."""
        app, known, consumer = self._app, self._known, consumer_of(self._app)
        received = self._read(message)
        if received is not None:
            if self.topic in consumer.changed or time.monotonic() - self._looked > _LOOK_BUSY:
                await self._refuse_another()
            topic = consumer.topics[self.topic]
            source = Source(app.conf.id, self._services[0], topic, message.partition)
            cause = Cause(source, message.offset)
            begin = functools.partial(Saying, cause, app.ids, self._place_of, app.confirm)
            keep = functools.partial(consumer.roll_back, message)
            before = consumer.rollbacks(message)
            await attempt(self._handler, received, known.settings, begin, before, keep)
        consumer.finish(message)

    async def _watch(self) -> None:
        """While no message arrives, check whether the topic was deleted or recreated."""
        if self._served is None:
            return
        consumer = consumer_of(self._app)
        try:
            if self.topic in consumer.topics:
                await self._refuse_another()
            await consumer.join_again_if_idle()
        except Exception as error:
            await self._app.give_up(error)

    async def _refuse_another(self) -> None:
        """Raise SurroundingsError if the queue's topic was deleted or recreated.

        The new topic's offsets start at 0 again, and would count as processed. The next time the
        agent starts, it reads the new topic from the beginning.
        """
        consumer = consumer_of(self._app)
        changed = self.topic in consumer.changed
        if not changed:
            try:
                found = await asyncio.to_thread(find_topic_id, self._app.cluster, self.topic)
            except KafkaException:
                return  # Kafka is unavailable, so nothing is read from the topic either
            self._looked = time.monotonic()
            changed = found != consumer.topics[self.topic]
        if changed:
            raise SurroundingsError(
                f"{self.topic} has been recreated since the start.",
                "Restart the process; it then reads the new topic from its beginning.",
            )

    def _read(self, message: Message) -> Received | None:
        """Return the decoded record; ``None`` if the record is not for the agent."""
        try:
            frame = read_queued(message.value, list(message.headers or ()))  # type: ignore[arg-type]
        except MalformedError as error:  # only the endpoint worker writes a queue
            log.error("%s/%d@%d: %s", self.topic, message.partition, message.offset, error)
            return None
        if frame.parties.to_service not in self._services:
            return None
        app, is_initiator = self._app, not frame.parties.from_initiator
        side = Conversation(app.instance, app.database, frame.conversation, is_initiator)
        return Received(side, frame, message.partition, message.offset)

    def _place_of(self, conversation: uuid.UUID) -> int:
        return partition_of(conversation, self._known.places)
