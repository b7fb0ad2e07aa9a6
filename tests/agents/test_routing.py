"""The data-dependent routing service on a real Kafka (EX-68, EX-69, EX-70, EX-72)."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streams.agents import Dialog, HoplineApp, Received, hopline_app
from streams.client import Client, Conversation
from streams.protocol import DEFAULT, END_DIALOG, ERROR
from tests.agents.rig import serving
from tests.node.evidence import shows
from tests.running import System, running

ROOT = Path(__file__).parents[2]
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


@contextmanager
def routers(system: System, folder: Path) -> Iterator[None]:
    """Run `hopline worker agents` for both routers."""
    with (folder / "routers.log").open("wb") as log:
        child = subprocess.Popen(
            [
                *(sys.executable, "-m", "streams", "worker", "agents", *system.options, "--all"),
                *("--service", "data-dependent-routing"),
                *("--classifier", "tests.agents.classifying:classify"),
            ],
            cwd=ROOT, stdout=log, stderr=log,
            env={**os.environ, "CLASSIFIED": str(folder / "classified")},
        )  # fmt: skip
        try:
            yield
            child.terminate()
            assert child.wait(60) == 0
        finally:
            print((folder / "routers.log").read_text())
            child.kill()
            child.wait()


@pytest.fixture(scope="module")
def bench(kafka: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    prefix, folder = f"t{uuid.uuid4().hex[:12]}.", tmp_path_factory.mktemp("routing")
    with (
        running(kafka, prefix, "data_dependent") as system,
        system.client() as client,
        routers(system, folder),
        ExitStack() as apps,
    ):
        made = Bench(system, client, folder / "classified")
        for name in ("North", "South"):
            apps.enter_context(serving(partition(made, name)))
        yield made


@shows("EX-68", "EX-69")
def test_the_first_message_is_classified_and_answers_come_back(bench: Bench) -> None:
    """Once for each dialog; the second message names the other partition, and is not asked."""
    bodies = [NORTH, SOUTH, b"no XML at all"]
    dialog = bench.order(*bodies)
    found = bench.came(CLIENT, "ClientQueue", 3, {str(dialog.id)})
    answers = [(DEFAULT, f"from the North: {body.decode()}") for body in bodies]
    assert found == {str(dialog.id): answers}
    assert bench.classified.count(NORTH.decode()) == 1
    assert SOUTH.decode() not in bench.classified


@shows("EX-70")
def test_the_end_of_one_dialog_is_the_end_of_both(bench: Bench) -> None:
    dialog = bench.order(SOUTH)
    bench.came(CLIENT, "ClientQueue", 1, {str(dialog.id)})
    bench.client.end(dialog)
    there = bench.came(("South", "South"), "OrderQueue", 2)
    assert [(DEFAULT, SOUTH.decode()), (END_DIALOG, "")] in there.values()


@shows("EX-70")
def test_an_error_is_wrapped(bench: Bench) -> None:
    dialog = bench.order(NORTH, b"sold out?")
    _, (kind, body) = bench.came(CLIENT, "ClientQueue", 2, {str(dialog.id)})[str(dialog.id)]
    assert kind == ERROR and "<Code>42</Code>" in body and "forwarded: sold out" in body


@shows("EX-68")
def test_who_names_no_service_is_refused(bench: Bench) -> None:
    dialog = bench.order(b"<message/>")
    [(kind, body)] = bench.came(CLIENT, "ClientQueue", 1, {str(dialog.id)})[str(dialog.id)]
    assert kind == ERROR and "<Code>1</Code>" in body and "names no service" in body


@shows("EX-72")
def test_a_dialog_keeps_its_router(bench: Bench) -> None:
    dialogs = {str(bench.order(NORTH, b"1", b"2").id) for _ in range(8)}
    assert len(bench.came(CLIENT, "ClientQueue", 24, dialogs)) == 8
    at = []
    for place in ROUTERS:
        topic = bench.system.cluster.topics.queue(*place, "RoutingQueue")
        seen = {one["conversation"] for one in bench.system.snapshot(topic)}
        at.append(dialogs & seen)
    assert at[0] | at[1] == dialogs and not at[0] & at[1]
