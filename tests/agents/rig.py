"""A shop with services as agents: its topology, and applications that run in threads of a test."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from aiokafka.conn import AIOKafkaConnection

from streams.agents import Dialog, HoplineApp, Received, hopline_app
from streams.client import Client, Conversation
from streams.kafka import deploy, topic_id
from streams.topology import Topology, load
from tests.running import DEADLINE, System, delete

ROOT = Path(__file__).parents[2]
SHOP = """
instances:
  ServerA:
    databases:
      DatabaseA:
        message_types: &types {//shop/Order: {}, //shop/Accepted: {}}
        contracts: &contracts
          //shop/OrderContract: {//shop/Order: initiator, //shop/Accepted: target}
        services: {//shop/Web: {queue: WebQueue, contracts: []}}
        routes:
          - {name: Orders, service_name: //shop/OrderService, address: 'tcp://ServerB:4022'}
  ServerB:
    databases:
      DatabaseB:
        message_types: *types
        contracts: *contracts
        services:
          //shop/OrderService: {queue: OrderQueue, contracts: [//shop/OrderContract]}
          //shop/StockService: {queue: StockQueue, contracts: [//shop/OrderContract]}
        routes:
          - {name: Web, service_name: //shop/Web, address: 'tcp://ServerA:4022'}
"""
AT_A, AT_B = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
WEB, ORDERS, STOCK = "//shop/Web", "//shop/OrderService", "//shop/StockService"
CONTRACT, ORDER, ACCEPTED = "//shop/OrderContract", "//shop/Order", "//shop/Accepted"


def shop(folder: Path) -> Topology:
    """Return the shop's topology."""
    (folder / "topology.yaml").write_text(SHOP)
    return load(folder, time.time())


def application(system: System, name: str = "orders", **options: Any) -> HoplineApp:
    """Return an application at ServerB/DatabaseB that serves no pages and commits often."""
    instance, database = AT_B
    return hopline_app(
        f"{system.cluster.topics.prefix}{name}",
        instance=instance,
        database=database,
        bootstrap=system.cluster.bootstrap,
        prefix=system.cluster.topics.prefix,
        **{"web_enabled": False, "broker_commit_interval": 0.2, **options},
    )


def make_anew(system: System, topic: str, meanwhile: Callable[[], None] = lambda: None) -> None:
    """Delete a topic while no worker runs, and let it be made again."""
    cluster = system.cluster
    system.stop()
    before = topic_id(cluster, topic)
    delete(cluster, topic)
    meanwhile()
    deploy(cluster, system.topology)
    assert topic_id(cluster, topic) != before
    system.start()


class AppThread:
    """Runs an application until it is stopped, or ends by itself."""

    def __init__(self, app: HoplineApp) -> None:
        self.app = app
        self.failure: BaseException | None = None
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="agents", daemon=True)
        self._thread.start()
        assert self._ready.wait(DEADLINE)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except BaseException as error:
            self.failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        try:
            await self.app.start()
            self._ready.set()
            ended = [self._stop.wait(), self.app._crashed.wait()]
            tasks = [asyncio.ensure_future(end) for end in ended]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            self.failure = self.app.crash_reason
        finally:
            await self.app.stop()
            if self.app.crash_reason is not None:
                await _close_connections()

    def join(self) -> None:
        """Return when it has ended by itself."""
        self._thread.join(DEADLINE)
        assert not self._thread.is_alive()

    def stop(self) -> None:
        """End it."""
        with suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        self.join()


async def _close_connections() -> None:
    """Close the connections of this loop that are left after an application has failed.

    Faust does not always close them: a process would end now. Otherwise, a later collection would
    find them, and the test that runs then would fail.
    """
    loop = asyncio.get_running_loop()
    for each in gc.get_objects():
        if type(each) is AIOKafkaConnection and each._loop is loop:
            each.close()
    await asyncio.sleep(0)


@contextmanager
def serving(app: HoplineApp) -> Iterator[AppThread]:
    """Run an application until the block ends; raises what it failed with."""
    thread = AppThread(app)
    try:
        yield thread
    finally:
        thread.stop()
    if thread.failure is not None:
        raise thread.failure


@contextmanager
def worker(system: System, folder: Path, *more: str, **environment: str) -> Iterator[None]:
    """Run `hopline worker agents` for all instances until the block ends; ``more`` says which."""
    with (folder / "agents.log").open("wb") as log:
        command = (sys.executable, "-m", "streams", "worker", "agents", "--all")
        child = subprocess.Popen(
            [*command, *system.options, *more],
            cwd=ROOT, stdout=log, stderr=log, env={**os.environ, **environment},
        )  # fmt: skip
        try:
            yield
            child.terminate()
            assert child.wait(DEADLINE) == 0
        finally:
            print((folder / "agents.log").read_text())
            child.kill()
            child.wait()


def answering(app: HoplineApp, seen: list[bytes] | None = None, mark: bytes = b"!") -> HoplineApp:
    """Let an application answer each order and end nothing."""

    @app.service(ORDERS)
    async def orders(dialog: Dialog, message: Received) -> None:
        if seen is not None:
            seen.append(message.body)
        if message.ends_dialog:
            await dialog.end()
        else:
            await dialog.send(message.body + mark, type=ACCEPTED)

    return app


def order(client: Client, *bodies: bytes) -> Conversation:
    """Begin a dialog with the order service and send it orders."""
    dialog = client.begin(*AT_A, WEB, ORDERS, contract=CONTRACT)
    for body in bodies:
        client.send(dialog, body, type=ORDER)
    client.flush()
    return dialog


def answers(system: System, count: int) -> list[str]:
    """Return so many bodies of what customers got, in order."""
    topic = system.cluster.topics.queue(*AT_A, "WebQueue")
    return [found["body"]["text"] for found in system.records(topic, count=count)]
