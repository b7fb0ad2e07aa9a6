"""`hopline query`: the system views over a running topology and over one that stands still."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from streams.cli.text.table import table
from streams.client import Conversation
from streams.protocol import Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import apply_sql, load
from streams.wire.records import queue_record
from tests.command import hopline, rows
from tests.running import System, eventually, running

AT_A = ("ServerA", "DatabaseA")
SERVICES = ("InitiatorService", "TargetService")


def run(system: System, view: str, *args: str) -> tuple[int, str, str]:
    return hopline("query", view, *args, *system.options)


@pytest.fixture(scope="module")
def waiting(kafka: str) -> Iterator[tuple[System, Conversation, Conversation]]:
    """Return two dialogs of ServerA, whose target does not run and whose target nobody has."""
    with (
        running(kafka, f"t{uuid.uuid4().hex[:12]}.", "two_brokers", start=False) as system,
        system.client() as client,
    ):
        system.start("ServerA")
        dialog = client.begin(*AT_A, *SERVICES, broker="DatabaseB")
        for body in (b"one", b"\xff\xfe", b"x" * 200):
            client.send(dialog, body, wait=True)
        client.end(dialog, wait=True)
        nowhere = client.begin(*AT_A, "InitiatorService", "Nobody", lifetime=3600)
        client.send(nowhere, b"lost?", wait=True)
        yield system, dialog, nowhere


def test_the_transmission_queue_has_what_is_not_acknowledged(
    waiting: tuple[System, Conversation, Conversation],
) -> None:
    system, dialog, _ = waiting
    found = [
        r for r in rows(system, "sys.transmission_queue") if r["conversation_id"] == str(dialog.id)
    ]
    assert [r["message_sequence_number"] for r in found] == [0, 1, 2, 3]
    assert [r["message_body"] for r in found] == [
        {"size": 3, "text": "one"},
        {"size": 2, "hex": "fffe"},
        {"size": 200, "text": "x" * 200},
        None,
    ]
    assert [r["message_type_name"].rpartition("/")[2] for r in found] == [
        *("DEFAULT", "DEFAULT", "DEFAULT", "EndDialog"),
    ]
    assert [r["is_end_of_dialog"] for r in found] == [False, False, False, True]
    assert {r["to_broker_instance"] for r in found} == {"DatabaseB"}
    assert found[0]["enqueue_time"].endswith("Z")
    assert set(found[0]) >= {
        *("conversation_handle", "to_service_name", "from_service_name", "service_contract_name"),
        *("is_conversation_error", "transmission_status", "priority"),
    }


def test_the_transmission_queue_of_a_target_has_what_waits_for_its_queue(
    kafka: str, unique: str
) -> None:
    text, now = "ALTER QUEUE TargetQueue WITH STATUS = OFF", time.time()
    # off from the start: running workers would adopt it sooner or later
    off = apply_sql(load(topologies_dir() / "two_brokers", now), "ServerB", "DatabaseB", text, now)
    with running(kafka, unique, off) as system, system.client() as client:
        dialog = client.begin(*AT_A, *SERVICES)
        client.send(dialog, b"parked", wait=True)

        def parked() -> list[dict[str, Any]]:
            return rows(system, "sys.transmission_queue", "--at", "ServerB")

        [row] = eventually(parked, "a parked row")
    assert (row["message_body"], row["to_service_name"]) == (
        {"size": 6, "text": "parked"},
        "TargetService",
    )
    assert row["transmission_status"] == "9617: the queue is disabled"


def test_a_status_states_why_nothing_was_sent(
    waiting: tuple[System, Conversation, Conversation],
) -> None:
    system, _, nowhere = waiting

    def status() -> str:
        found = (
            str(r["transmission_status"])
            for r in rows(system, "sys.transmission_queue", "--at", "ServerA")
            if r["conversation_id"] == str(nowhere.id)
        )
        return next(found, "")  # not committed yet

    assert eventually(status, "a transmission status").startswith("9796: ")


def test_endpoints_have_every_documented_column(
    waiting: tuple[System, Conversation, Conversation],
) -> None:
    system, dialog, nowhere = waiting
    found = {r["conversation_id"]: r for r in rows(system, "sys.conversation_endpoints")}
    assert set(found) == {str(dialog.id), str(nowhere.id)}
    row = found[str(dialog.id)]
    assert (row["state"], row["state_desc"]) == ("DO", "DISCONNECTED_OUTBOUND")
    assert (row["is_initiator"], row["send_sequence"], row["receive_sequence"]) == (True, 4, 0)
    assert (row["far_service"], row["far_broker_instance"]) == ("TargetService", "DatabaseB")
    assert set(row) >= {
        *("conversation_handle", "service_contract_id", "conversation_group_id", "service_id"),
        *("lifetime", "principal_id", "far_principal_id", "outbound_session_key_identifier"),
        *("inbound_session_key_identifier", "security_timestamp", "dialog_timer"),
        *("last_send_tran_id", "end_dialog_sequence", "receive_sequence_frag", "system_sequence"),
        *("first_out_of_order_sequence", "last_out_of_order_sequence", "last_out_of_order_frag"),
        *("is_system", "priority"),
    }


def test_routes_are_those_of_every_database_and_of_msdb(
    waiting: tuple[System, Conversation, Conversation],
) -> None:
    system, _, _ = waiting
    found = rows(system, "sys.routes", "--at", "ServerA/DatabaseA")
    assert [(r["name"], r["remote_service_name"], r["address"]) for r in found] == [
        ("AutoCreatedLocal", None, "LOCAL"),
        ("TargetRoute", "TargetService", "tcp://ServerB:4022"),
    ]
    where = {(r["instance"], r["database"]) for r in rows(system, "sys.routes")}
    assert where == {
        *(("ServerA", "DatabaseA"), ("ServerA", "msdb")),
        *(("ServerB", "DatabaseB"), ("ServerB", "msdb")),
    }


@pytest.mark.parametrize(
    "view", ["sys.conversation_endpoints", "sys.transmission_queue", "sys.routes"]
)
@pytest.mark.parametrize("at", [(), ("--at", "servera"), ("--at", "ServerA/databasea")])
def test_tables_fit(
    waiting: tuple[System, Conversation, Conversation], view: str, at: tuple[str, ...]
) -> None:
    code, out, err = run(waiting[0], view, *at)
    assert code == 0, err
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    assert set(lines[1]) == {"-", " "}
    assert lines[-1].startswith(f"({len(lines) - 3} row")


def test_an_instance_where_nothing_happened_has_no_rows(
    waiting: tuple[System, Conversation, Conversation],
) -> None:
    system, _, _ = waiting
    out = run(system, "sys.conversation_endpoints", "--at", "ServerB")[1]
    assert out == "(no rows)\n"


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (("sys.nonsense",), "'sys.nonsense' is not one of"),
        (("sys.routes", "--at", "ServerX"), "There is no instance 'ServerX'"),
        (("sys.routes", "--at", "ServerA/X"), "There is no database 'X'"),
    ],
)
def test_wrong_use_is_reported(
    waiting: tuple[System, Conversation, Conversation], args: tuple[str, ...], sentence: str
) -> None:
    code, out, err = run(waiting[0], *args)
    assert (code, out) == (2, "")
    assert sentence in err


def test_unreadable_state_is_reported_and_not_skipped(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        producer = system.cluster.producer()
        producer.produce(system.cluster.topics.dialog("ServerA"), key=b"nonsense", value=b"x")
        producer.flush()
        code, _, err = run(system, "sys.conversation_endpoints")
        assert code == 3
        assert "dialog.ServerA/0 cannot be decoded: not the key of a state record" in err


def test_a_key_that_is_no_group_hides_no_other_row(kafka: str, unique: str) -> None:
    parties = Parties("InitiatorService", None, "TargetService", "B", "DEFAULT", True)
    header, journey = Header(uuid.UUID(int=1), "DEFAULT", 0, 1, 2), Journey(1, 2, 0, 3)
    with running(kafka, unique, "two_brokers", start=False) as system:
        topic = system.cluster.topics.queue("ServerB", "DatabaseB", "TargetQueue")
        producer = system.cluster.producer()
        group = uuid.UUID(int=2)
        key, body, headers = queue_record(group, group, parties, header, journey, b"a body")
        for each in (b"\xff", None, key):
            producer.produce(topic, key=each, value=body, headers=list(headers))
        assert producer.flush(30) == 0
        code, out, err = run(
            system, "SELECT conversation_group_id AS g FROM TargetQueue", "--format", "json"
        )
        assert (code, err) == (0, "")
        assert [row["g"] for row in json.loads(out)] == ["0xff", None, str(group)]


def test_a_table_shows_null_bits_and_bodies() -> None:
    found = list(
        table(
            [{"a": None, "b": True, "c": b"\xff", "message_type_name": "http://x"}],
            ("a", "b", "c", "message_type_name"),
            100,
        )
    )
    assert found[2].split() == ["NULL", "1", "0xff", "http://x"]
    assert found[3] == "(1 row)"
