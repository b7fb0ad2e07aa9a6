"""The ids of dialogs that agents begin: the same when repeated, and a secret until then."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.agents import Dialog, HoplineApp, Received
from streams.agents.dialog import NotConfirmedError
from streams.kafka import deploy, topic_id
from streams.protocol import Cause, Source
from streams.topology import load
from streams.wire.records import Wire, read_command
from tests.agents.rig import AT_B, ORDER, ORDERS, SHOP, STOCK, application, order, serving
from tests.agents.test_again import rewind
from tests.running import System, delete, running

BODIES = [b"%d" % n for n in range(6)]
PARTITIONED = SHOP.replace("  ServerB:\n", "  ServerB:\n    partitions: 4\n")


@pytest.fixture
def system(kafka: str, unique: str, tmp_path: Path) -> Iterator[System]:
    (tmp_path / "topology.yaml").write_text(PARTITIONED)
    with running(kafka, unique, load(tmp_path, 0)) as made:
        yield made


def asking(system: System, name: str = "orders") -> HoplineApp:
    """Let the stock be asked for each order, in a dialog that is related to no other."""
    app = application(system, name)

    @app.service(ORDERS)
    async def orders(dialog: Dialog, message: Received) -> None:
        if message.type == ORDER:
            asked = await dialog.begin(STOCK, related=False)
            await asked.send(message.body, type=ORDER)

    return app


def begun(system: System, name: str, count: int) -> list[tuple[str, str]]:
    """Return the ids of dialogs and statements of an application's first BEGINs, in any order."""

    def is_wanted(record: dict[str, Any]) -> bool:
        command = record.get("command") or {}
        cause = command.get("cause") if command.get("kind") == "BEGIN" else None
        return cause is not None and cause["source"]["application"].endswith(name)

    records = system.records(system.cluster.topics.cmd("ServerB"), is_wanted, count)
    return [(record["conversation"], record["command"]["command_id"]) for record in records]


def asked(system: System, count: int) -> list[str]:
    """Return the orders at the stock, when there are so many."""
    topic = system.cluster.topics.queue(*AT_B, "StockQueue")
    system.records(topic, count=count)
    return sorted(record["body"]["text"] for record in system.snapshot(topic))


def queue(system: System) -> str:
    return system.cluster.topics.queue(*AT_B, "OrderQueue")


@pytest.mark.long
def test_only_the_application_knows_the_ids_and_keeps_them(system: System) -> None:
    """After a restart it repeats them; another application on the same queue has other ids."""
    with system.client() as client, serving(asking(system)) as first:
        order(client, *BODIES)
        asked(system, len(BODIES))
        group = first.app.conf.id
    rewind(system.cluster, group, queue(system))
    with serving(asking(system)), serving(asking(system, "audit")):
        found = begun(system, "orders", 2 * len(BODIES))
        others = begun(system, "audit", len(BODIES))
    assert len(set(found)) == len(BODIES) and not {*sum(found, ())} & {*sum(others, ())}
    source = Source(group, ORDERS, topic_id(system.cluster, queue(system)), 0)
    public = [Cause(source, offset) for offset in range(len(BODIES))]
    computed = {str(id) for c in public for id in (c.public_id, c.public_conversation)}
    assert not {*sum(found, ())} & computed
    assert not {str(uuid.uuid5(uuid.UUID(c), "conversation")) for _, c in found} & {
        conversation for conversation, _ in found
    }


@pytest.mark.long
def test_a_dialog_whose_agent_stops_between_begin_and_send_is_continued(system: System) -> None:
    """The process that repeats the BEGIN sends on the dialog that the first process began."""

    def stopped_before_send(app: HoplineApp) -> HoplineApp:
        confirm = app.confirm

        async def only_begin(record: Wire) -> None:
            if read_command(*record, stored_at=0).cause != before_send:
                await confirm(record)
            else:
                raise NotConfirmedError("stopped", "")

        app.confirm = only_begin  # type: ignore[method-assign]
        return app

    group = f"{system.cluster.topics.prefix}orders"
    source = Source(group, ORDERS, topic_id(system.cluster, queue(system)), 0)
    before_send = Cause(source, 0, 1)
    with system.client() as client:
        order(client, b"wanted")
        with (
            pytest.raises(NotConfirmedError, match="stopped"),
            serving(stopped_before_send(asking(system))) as thread,
        ):
            thread.join()
        with serving(asking(system)):
            assert asked(system, 1) == ["wanted"]
    [first, again] = begun(system, "orders", 2)
    assert first == again


@pytest.mark.long
def test_with_another_secret_no_statement_takes_effect_again(system: System) -> None:
    """The topic with the secret was lost; every BEGIN still reaches the worker that knows it."""
    cluster, reading = system.cluster, system.cluster.topics.reading("ServerB")
    with system.client() as client, serving(asking(system)) as first:
        order(client, *BODIES)
        assert asked(system, len(BODIES)) == [body.decode() for body in BODIES]
        group = first.app.conf.id
    delete(cluster, reading)
    deploy(cluster, system.topology)
    rewind(cluster, group, queue(system))
    with system.client() as client, serving(asking(system)) as second:
        order(client, b"last")
        found = begun(system, "orders", 2 * len(BODIES) + 1)
        assert len({conversation for conversation, _ in found}) == 2 * len(BODIES) + 1
        assert asked(system, len(BODIES) + 1) == [*[body.decode() for body in BODIES], "last"]
        skipped = [
            event
            for event in system.snapshot(cluster.topics.event)
            if "skipped" in (event.get("event", {}).get("detail") or "")
        ]
        assert second.app.conf.id == group and skipped
