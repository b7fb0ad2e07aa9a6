"""``hopline query``: every view over the topics, and SELECT over views and queues."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from streams.client import Conversation, Receiver
from streams.kafka import deploy, read_catalog
from streams.live.views.places import Asked, places_of
from streams.live.views.table import VIEWS
from streams.topology import Queue
from tests.command import hopline, rows
from tests.endpoints import read_dialogs
from tests.live.lives import PATIENT
from tests.running import System, eventually, running

AT_A = ("ServerA", "DatabaseA")
SERVICES = ("InitiatorService", "TargetService")


def query(system: System, question: str, *args: str) -> tuple[int, str, str]:
    return hopline("query", question, *args, *system.options)


def acknowledged(system: System) -> set[int]:
    """Return how many of the initiator's messages are acknowledged in each dialog."""
    return {found.acknowledged[0] for _, found in read_dialogs(system.cluster, "ServerA")}


@pytest.fixture(scope="module")
def live(kafka: str) -> Iterator[System]:
    """Return two brokers; a dialog that has arrived, and frames that no forwarder has taken."""
    prefix = f"t{uuid.uuid4().hex[:12]}."
    with (
        running(kafka, prefix, "two_brokers", limits=PATIENT) as system,
        system.client() as client,
    ):
        dialog = client.begin(*AT_A, *SERVICES)
        for body in (b"one", b"two", b"\xff"):
            client.send(dialog, body, wait=True)
        system.received("ServerB", "DatabaseB", "TargetQueue", 3)
        eventually(lambda: acknowledged(system) == {3}, "all three are acknowledged")
        system.stop()
        worker = system.start("ServerA")
        system.records(system.cluster.topics.presence, count=3)
        client.send(dialog, b"stays at ServerB", wait=True)
        system.records(system.cluster.topics.txq("ServerB"), count=4)
        system.workers.remove(worker)
        worker.stop()
        yield system


@pytest.mark.long
@pytest.mark.parametrize("name", VIEWS)
def test_rows_have_the_columns_of_the_table(live: System, name: str) -> None:
    """In its order; the table is what an empty result and a SELECT have."""
    topology = read_catalog(live.cluster).topology
    assert topology is not None
    view = VIEWS[name]
    asked = Asked(live.cluster, topology, places_of(topology, None), time.time_ns() // 1_000_000)
    for row in view.rows(asked):
        assert set(row) == set(view.columns)
    assert set(view.shown) <= set(view.columns)


def test_what_is_declared_has_rows(live: System) -> None:
    assert [
        (r["name"], r["queue_name"]) for r in rows(live, "sys.services", "--at", "ServerA")
    ] == [("InitiatorService", "InitiatorQueue")]
    [queue] = rows(live, "sys.service_queues", "--at", "ServerB/DatabaseB")
    assert (queue["name"], queue["is_receive_enabled"]) == ("TargetQueue", True)
    [endpoint] = rows(live, "sys.service_broker_endpoints", "--at", "ServerA")
    assert (endpoint["state_desc"], endpoint["message_forwarding_size"]) == ("STARTED", 10)
    [group] = rows(live, "sys.conversation_groups", "--at", "ServerA")
    assert group["service_name"] == "InitiatorService"


def test_in_flight_frames_are_forwarded_messages(live: System) -> None:
    [row] = rows(live, "sys.dm_broker_forwarded_messages")
    assert (row["instance"], row["message_sequence_number"]) == ("ServerB", 3)
    assert (row["to_service_name"], row["adjacent_broker_address"]) == (
        "TargetService",
        "tcp://ServerA:4022",
    )
    assert 0 <= row["time_consumed"] <= row["time_to_live"]


@pytest.mark.long
def test_connections_are_the_heartbeats_of_instances_that_routes_name(
    kafka: str, unique: str
) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:

        def states() -> dict[str, str]:
            found = rows(system, "sys.dm_broker_connections")
            return {r["peer_instance"]: r["state_desc"] for r in found}

        assert states() == {"ServerA": "CLOSED", "ServerB": "CLOSED"}
        system.start("ServerA", roles=("forwarder",))
        eventually(lambda: states()["ServerA"] == "CONNECTED", "ServerA sends heartbeats")
        assert states()["ServerB"] == "CLOSED"


@pytest.mark.long
@pytest.mark.parametrize(
    ("select", "expected"),
    [
        (
            "SELECT name, address FROM sys.routes WHERE address LIKE 'tcp%' AND instance='ServerA'",
            [{"name": "TargetRoute", "address": "tcp://ServerB:4022"}],
        ),
        (
            "select top (1) [name] from [sys].[routes] order by name desc;",
            [{"name": "TargetRoute"}],
        ),
        ("SELECT COUNT(*) AS n FROM sys.services WHERE name = N'TargetService'", [{"n": 1}]),
        (
            "SELECT is_initiator, state FROM sys.conversation_endpoints ORDER BY is_initiator",
            [{"is_initiator": False, "state": "CO"}, {"is_initiator": True, "state": "CO"}],
        ),
        (
            "SELECT s.name FROM sys.services s JOIN sys.service_queues q ON q.name = s.queue_name"
            " AND q.instance = s.instance WHERE q.name = 'TargetQueue'",
            [{"name": "TargetService"}],
        ),
        ("SELECT queue_id FROM sys.dm_broker_queue_monitors", []),
        (
            "SELECT message_body, message_sequence_number AS n FROM dbo.TargetQueue WHERE n < 2",
            [
                {"message_body": {"size": 3, "text": "one"}, "n": 0},
                {"message_body": {"size": 3, "text": "two"}, "n": 1},
            ],
        ),
        ("SELECT COUNT(*) AS n FROM TargetQueue", [{"n": 3}]),
    ],
)
def test_select(live: System, select: str, expected: list[dict[str, Any]]) -> None:
    assert rows(live, select) == expected


def test_a_select_is_a_table_too(live: System) -> None:
    code, out, _ = query(live, "SELECT instance, name FROM sys.services ORDER BY instance")
    assert code == 0
    assert out.splitlines()[2:] == [
        "ServerA   InitiatorService",
        "ServerB   TargetService",
        "(2 rows)",
    ]


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("SELECT * FROM sys.tables", "Unknown view sys.tables."),
        ("SELECT nonsense FROM sys.routes", "no such column: nonsense"),
        ("SELECT * FROM Nowhere", "no such table: Nowhere"),
        ("SELECT 1; DELETE FROM sys.routes", "one statement at a time"),
        ("SELECT load_extension('x')", "The SELECT failed"),
        ("SELECT * FROM pragma_database_list", "not authorized"),
        ("DELETE FROM sys.routes", "is not one of"),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "is not one of"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(live: System, select: str, message: str) -> None:
    code, out, err = query(live, select)
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.long
def test_a_queue_with_a_reading_group_shows_what_it_has_not_received(
    kafka: str, unique: str
) -> None:
    with running(kafka, unique, "two_brokers") as system, system.client() as client:
        group = f"{unique}readers"
        instance = system.topology.instances["ServerB"]
        database = instance.databases["DatabaseB"]
        queue = Queue("TargetQueue", group=group)
        named = replace(database, queues={"TargetQueue": queue})
        changed = replace(instance, databases={"DatabaseB": named})
        topology = replace(
            system.topology, instances={**system.topology.instances, "ServerB": changed}
        )
        deploy(system.cluster, topology)
        dialog = client.begin(*AT_A, *SERVICES)
        for body in (b"one", b"two"):
            client.send(dialog, body, wait=True)
        system.received("ServerB", "DatabaseB", "TargetQueue", 2, group="readers")
        client.send(dialog, b"three", wait=True)
        select = "SELECT status, message_body FROM TargetQueue"
        left = [{"status": 1, "message_body": {"size": 5, "text": "three"}}]
        assert eventually(lambda: rows(system, select), "the third message") == left
        other = client.begin(*AT_A, *SERVICES)
        client.send(other, b"four", wait=True)
        eventually(lambda: len(rows(system, select)) == 2, "the fourth message")
        at = ("ServerB", "DatabaseB")
        with Receiver(system.cluster, *at, "TargetQueue", group) as receiver:
            there = Conversation(*at, other.id, is_initiator=False)
            assert eventually(lambda: receiver.receive(1, conversation=there), "it")
            receiver.commit()
        assert rows(system, select) == left, "received before what came first"
