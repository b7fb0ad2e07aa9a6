"""Read stored batches as Kafka has stored them, which its client (librdkafka) does not show.

When a broker stores a batch, it assigns the batch's first offset, and it checks that the last
offset matches the number of records. So the offsets of a batch are correct even if a hostile
program has written it. The offsets that its records state may be wrong (decision 46).
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

from streams.causes import Causes, more
from streams.kafka.access import access_of
from streams.kafka.batch_headers import Batch, Fetched, headers, readable
from streams.kafka.stalled_fetch import Place
from streams.kafka.stored_records import StoredBatch

log = logging.getLogger("hopline.kafka")

_FETCH, _FETCH_MORE = 16 << 10, 1 << 20
"""Bytes of the first fetch, which is usually enough for some dozens of small transactions, and of
the following ones. Kafka may cut off the last batch of a response, but never the first."""
_KEPT = 1.0
"""Seconds for which the headers of a response are used again."""
_TIMEOUT, _PAUSE = 10.0, 0.2
"""Seconds for a request, and seconds to wait after it has failed."""
_FOREVER = 2**31 - 1
_READ_COMMITTED = 1


class UnknownError(Exception):
    """Kafka has not responded about an offset ``at``; no batch before it has committed records."""

    def __init__(self, at: int, why: str = "no response") -> None:
        super().__init__(why)
        self.at = at


class Known(NamedTuple):
    """What a response shows of the offsets from ``start`` to ``stop``, for one second."""

    start: int
    stop: int
    readable: list[Batch]
    """The batches that have committed records."""
    until: float


class StoredBatches:
    """Requests headers with aiokafka, in a thread of its own.

    The connection is opened when it is first needed. Raises UnsupportedError or UsageError if
    aiokafka cannot use librdkafka's ``properties``. After a failure, the caller waits 0.2 s.
    """

    def __init__(self, bootstrap: str, properties: Mapping[str, str]) -> None:
        self._options = access_of(properties).options(bootstrap)
        self._failures = Causes()
        self._known: dict[Place, Known] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._connecting = asyncio.Lock()
        self._requests = set[asyncio.Task[Any]]()
        self._thread = threading.Thread()
        self._client: Any = None

    def first_with_records(self, place: Place, start: int, budget: float) -> Batch:
        """Return the first batch that has committed records at or after ``start``.

        The batch may begin before ``start``. Raises UnknownError if Kafka does not respond, or if
        ``budget`` seconds were not enough: then continue at its offset.
        """
        until, size = time.monotonic() + budget, _FETCH
        while True:
            known = self._known.get(place)
            now = time.monotonic()
            if known is None or not known.start <= start < known.stop or now > known.until:
                self._known[place] = known = _known(start, self._fetch(place, start, size))
            found = next((one for one in known.readable if one.offsets.stop > start), None)
            if found is not None:
                return found
            start, size = known.stop, _FETCH_MORE
            if time.monotonic() >= until:
                raise UnknownError(start)

    def batch_at(self, place: Place, offset: int) -> StoredBatch | None:
        """Return the batch with an offset, or the next one; ``None`` if it is incomplete.

        Raises UnknownError if Kafka does not respond.
        """
        data = self._fetch(place, offset, 1).data
        with suppress(IndexError):  # no broker stores such a batch
            return StoredBatch(place, data)
        return None

    def close(self) -> None:
        """Close the connections, and end the thread."""
        self._known.clear()
        loop, self._loop = self._loop, None
        if loop is None:
            return
        asyncio.run_coroutine_threadsafe(self._end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()

    def ask(self, place: Place, start: int, size: int) -> Future[Fetched]:
        """Request the batches from ``start`` on: complete ones of ``size`` bytes, or a larger one.

        The result is UnknownError if Kafka does not respond within 10 s.
        """
        return asyncio.run_coroutine_threadsafe(self._asked(place, start, size), self._running())

    def report(self, place: Place, error: UnknownError) -> None:
        """Log that Kafka has not responded, at most once a minute for each partition."""
        if (omitted := self._failures.due(place)) is not None:
            log.warning(
                "%s/%d@%d cannot be checked, and is requested again: %s%s",
                *place, error.at, error, more(omitted),
            )  # fmt: skip

    def _fetch(self, place: Place, start: int, size: int) -> Fetched:
        """Return a response with at least one batch, that at ``start`` or the next one."""
        try:
            fetched = self.ask(place, start, size).result()
            if not fetched.batches or fetched.batches[0].offsets.stop <= start:
                raise UnknownError(start, "the response contains no batch")
        except UnknownError as error:
            self.report(place, error)
            time.sleep(_PAUSE)
            raise
        return fetched

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop, self._connecting = asyncio.new_event_loop(), asyncio.Lock()
            run = self._loop.run_forever
            self._thread = threading.Thread(target=run, name="headers", daemon=True)
            self._thread.start()
        return self._loop

    async def _asked(self, place: Place, start: int, size: int) -> Fetched:
        from aiokafka.errors import KafkaError  # importing aiokafka takes 0.1 s

        task = asyncio.current_task()
        assert task is not None
        self._requests.add(task)
        try:
            return await asyncio.wait_for(self._request(place, start, size), _TIMEOUT)
        except (KafkaError, OSError, TimeoutError) as error:
            await self._disconnect()  # perhaps another broker leads the partition now
            raise UnknownError(start, repr(error)) from error
        finally:
            self._requests.discard(task)

    async def _request(self, place: Place, start: int, size: int) -> Fetched:
        from aiokafka.errors import for_code
        from aiokafka.protocol.fetch import FetchRequest
        from aiokafka.protocol.metadata import MetadataRequest
        from aiokafka.structs import TopicPartition

        topic, partition = place
        client, wanted = await self._connected(), TopicPartition(topic, partition)
        if client.cluster.leader_for_partition(wanted) is None:
            # `add_topic` of the client would let brokers create the topic.
            asked = MetadataRequest([topic], allow_auto_topic_creation=False)
            client.cluster.update_metadata(await client.send(client.get_random_node(), asked))
        leader = client.cluster.leader_for_partition(wanted)
        # Without a wait for records at the end: other partitions share the connection.
        request = FetchRequest(0, 1, size, _READ_COMMITTED, [(topic, [(partition, start, size)])])
        response = await client.send(leader, request)
        if not response.topics:  # a quota delays this client's responses
            return Fetched([], [])
        (_, ((_, code, _, *about),)) = response.topics[0]
        if code:
            raise for_code(code)
        aborted = about[2] if response.API_VERSION >= 11 else about[-2]  # then, a replica follows
        data, stable = about[-1] or b"", about[0]
        return Fetched(list(headers(data)), list(aborted or ()), data, stable)

    async def _connected(self) -> Any:
        from aiokafka.client import AIOKafkaClient

        async with self._connecting:
            if self._client is None:
                # The leader is known until a request fails, so metadata need not be renewed.
                client = AIOKafkaClient(metadata_max_age_ms=_FOREVER, **self._options)
                try:
                    await client.bootstrap()
                except BaseException:
                    await _close(client)
                    raise
                self._client = client
            return self._client

    async def _end(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_TIMEOUT):
                if requests := [*self._requests]:
                    for one in requests:
                        one.cancel()
                    await asyncio.wait(requests)
                await self._disconnect()

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await _close(client)


async def _close(client: Any) -> None:
    for connection in client._conns.values():  # TLS would wait 30 s for a broker's goodbye
        if connection._writer is not None:
            connection._writer.transport.abort()
    await client.close()


def _known(start: int, fetched: Fetched) -> Known:
    stop = fetched.batches[-1].offsets.stop
    return Known(start, stop, readable(fetched), time.monotonic() + _KEPT)
