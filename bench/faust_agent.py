"""The forwarder written as a Faust agent, as a baseline that `bench.kafka_forwarder` runs.

The routing decision uses the same code (``streams.node``), but Faust reads and writes the records.
Faust uses the aiokafka driver, because the other driver loses headers and timestamps, and a
concurrency of one, because otherwise Faust commits past records that are in progress.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from typing import Any

import faust

from streams.kafka import Cluster
from streams.node import Copy, Forwarder, Record, catalog_of
from streams.resources import topologies_dir
from streams.routing import Origin
from streams.topology import load
from streams.wire import Envelope
from streams.wire.records import HOP, MESSAGE, ROUTE

RAW: dict[str, Any] = {
    "key_type": bytes,
    "value_type": bytes,
    "key_serializer": "raw",
    "value_serializer": "raw",
}


def application(cluster: Cluster, folder: str) -> faust.App:
    """Return an application without web pages that commits every second; Faust needs a folder."""
    return faust.App(
        f"bench-{uuid.uuid4()}",
        broker=f"aiokafka://{cluster.bootstrap}",
        store="memory://",
        datadir=folder,
        web_enabled=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        consumer_auto_offset_reset="earliest",
        broker_commit_interval=1.0,
        broker_max_poll_records=2_000,
        stream_buffer_maxsize=8_192,
        producer_acks=-1,
        producer_compression_type="lz4",
        producer_linger=0.02,
        producer_max_batch_size=262_144,
    )


def faust_agent(cluster: Cluster, instance: str, count: int) -> tuple[float, float]:
    """Forward this number of records of an instance's ``txq``; return CPU seconds and duration."""
    with tempfile.TemporaryDirectory() as folder:
        return _forward(application(cluster, folder), cluster, instance, count)


def _forward(app: faust.App, cluster: Cluster, instance: str, count: int) -> tuple[float, float]:
    catalog = catalog_of(load(topologies_dir() / "combined", time.time()), 1)
    forwarder = Forwarder(instance, catalog, Envelope, lambda _: True)
    begun: list[float] = []
    done = asyncio.Event()

    @app.agent(app.topic(cluster.topics.txq(instance), **RAW), concurrency=1)
    async def forward(stream: faust.StreamT[bytes]) -> None:
        passed = 0
        async for event in stream.events():
            if not passed:
                begun.extend((time.process_time(), time.monotonic()))
            message = event.message
            headers = dict(message.headers)
            record = Record(
                Origin.OUTSIDE, message.key, headers[ROUTE], headers[HOP], len(message.value),
                False, headers[MESSAGE],
            )  # fmt: skip
            for copy in forwarder.handle(record, time.time_ns() // 1_000_000).copies:
                await targets(copy).send(
                    key=message.key, value=message.value, timestamp=message.timestamp,
                    headers=[(ROUTE, copy.route), (MESSAGE, record.message), (HOP, copy.hop)],
                )  # fmt: skip
            passed += 1
            if passed == count:
                await app.producer.flush()
                done.set()

    topics: dict[str, Any] = {}

    def targets(copy: Copy) -> Any:
        topic = topics.get(copy.instance)
        if topic is None:
            name = cluster.topics.txq(copy.instance)
            topic = topics[copy.instance] = app.topic(name, **RAW)
        return topic

    return asyncio.run(_until(app, done, begun))


async def _until(app: faust.App, done: asyncio.Event, begun: list[float]) -> tuple[float, float]:
    await app.start()
    await done.wait()
    took = time.process_time() - begun[0], time.monotonic() - begun[1]
    await app.stop()
    return took
