"""Routers as `hopline worker agents` runs them, a client, and the services of two regions."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams.agents import Dialog, HoplineApp, Received, hopline_app
from streams.client import Client, Conversation
from tests.agents.rig import serving, worker
from tests.running import System, running

CLIENT = ("ClientA", "ClientA")
ROUTERS = (("RouterA", "RoutingA"), ("RouterB", "RoutingB"))
SERVICE = "DataDependentRouting"
FIRST = b"<message><toServiceName>%b</toServiceName></message>"
NORTH, SOUTH = FIRST % b"OrdersNorth", FIRST % b"OrdersSouth"


@dataclass
class Bench:
    """A system with both routers and both partitions of the data."""

    system: System
    client: Client
    calls: Path

    @property
    def classified(self) -> list[str]:
        """Return the bodies that were classified, in a process of its own."""
        return self.calls.read_text().splitlines()

    def options(self) -> dict[str, Any]:
        cluster = self.system.cluster
        return {
            "bootstrap": cluster.bootstrap,
            "prefix": cluster.topics.prefix,
            "web_enabled": False,
        }

    def order(self, *bodies: bytes) -> Conversation:
        dialog = self.client.begin(*CLIENT, "OrderClient", SERVICE)
        for body in bodies:
            self.client.send(dialog, body)
        self.client.flush()
        return dialog

    def came(
        self, at: tuple[str, str], queue: str, count: int, dialogs: set[str] | None = None
    ) -> dict[str, list[tuple[str, str]]]:
        """Return type and body of so many messages of a queue, by dialog."""
        found: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for one in self.system.records(
            self.system.cluster.topics.queue(*at, queue),
            lambda d: dialogs is None or d["conversation"] in dialogs,
            count,
        ):
            said = (one["message"]["type"], one["body"]["text"])
            found[one["conversation"]].append(said)
        return found


def partition(bench: Bench, name: str) -> HoplineApp:
    """Return the service that has the data of the north or of the south."""
    app = hopline_app(f"{name}", instance=name, database=name, **bench.options())

    @app.service(f"Orders{name}")
    async def orders(dialog: Dialog, message: Received) -> None:
        if message.ends_dialog:
            await dialog.end()
        elif message.body == b"sold out?":
            await dialog.end(error=(42, "sold out"))
        else:
            await dialog.send(f"from the {name}: ".encode() + message.body)

    return app


def routers(system: System, folder: Path, *more: str) -> AbstractContextManager[None]:
    """Run `hopline worker agents` for both routers."""
    how = ("--service", "data-dependent-routing")
    by = ("--classifier", "tests.agents.classifying:classify")
    return worker(system, folder, *how, *by, *more, CLASSIFIED=str(folder / "classified"))


@contextmanager
def routed(kafka: str, folder: Path, *more: str) -> Iterator[Bench]:
    """Run everything until the block ends; ``more`` are options of the routers."""
    prefix = f"t{uuid.uuid4().hex[:12]}."
    with (
        running(kafka, prefix, "data_dependent") as system,
        system.client() as client,
        routers(system, folder, *more),
        ExitStack() as apps,
    ):
        made = Bench(system, client, folder / "classified")
        for name in ("North", "South"):
            apps.enter_context(serving(partition(made, name)))
        yield made
