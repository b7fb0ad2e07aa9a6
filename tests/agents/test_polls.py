"""An agent reads ahead of its queue only a few messages: they may be large."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from streams.agents import Dialog, Received
from streams.agents.driver import consumer_of
from streams.agents.polls import BUFFERED, POLLED
from tests.agents.rig import ORDERS, application, order, serving, shop
from tests.running import eventually, running
from tests.workers.rig import pause

COUNT = 300
MARKERS = 10
"""Offsets that ends of transactions may have among them."""


def test_an_agent_reads_few_messages_ahead_and_never_sleeps_for_room(
    kafka: str, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the handler waits, the buffer is full; then all messages come, in order."""
    seen: list[bytes] = []
    slept: list[float] = []
    with running(kafka, unique, shop(tmp_path)) as system, system.client() as client:
        order(client, *(b"%d" % n for n in range(COUNT)))
        queue = system.cluster.topics.queue("ServerB", "DatabaseB", "OrderQueue")
        system.records(queue, count=COUNT)
        app = application(system)
        go_on = asyncio.Event()

        @app.service(ORDERS)
        async def orders(dialog: Dialog, message: Received) -> None:
            await go_on.wait()
            seen.append(message.body)

        with serving(app) as thread:
            consumer = consumer_of(app)
            sleep = consumer.sleep

            async def noted(seconds: float, **options: object) -> None:
                if seconds and consumer._buffered_partitions:
                    slept.append(seconds)
                await sleep(seconds)

            monkeypatch.setattr(consumer, "sleep", noted)
            eventually(lambda: consumer._buffered_partitions or pause(), "the buffer is full")
            (last,) = [at for tp, at in consumer._read_offset.items() if tp.topic == queue]
            assert last is not None
            assert POLLED < last < BUFFERED + POLLED + MARKERS
            thread._loop.call_soon_threadsafe(go_on.set)
            eventually(lambda: len(seen) == COUNT or pause(), "all messages")
    assert seen == [b"%d" % n for n in range(COUNT)]
    assert slept == []
