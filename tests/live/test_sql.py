"""``hopline sql``: statements that a running system applies change its workers from then on."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import Result

from streams.client import StatementError
from streams.errors import SurroundingsError
from streams.kafka import read_catalog
from streams.kafka.catalog import VERSION_KEY, hash_of
from streams.live.admin.statements import Script, plan_script, publish_script
from streams.wire import encode_catalog_object
from tests.command import invoke, rows
from tests.running import System, eventually, running

AT_A = ("ServerA", "DatabaseA")
SERVICES = ("InitiatorService", "TargetService")


def sql(system: System, *args: str, at: str = "ServerA/DatabaseA", given: str = "") -> Result:
    return invoke("sql", "--at", at, *args, *system.options, given=given)


@pytest.fixture(scope="module")
def standing(kafka: str) -> Iterator[System]:
    """Return a topology that is applied and whose workers do not run."""
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "two_brokers", start=False) as system:
        yield system


@pytest.mark.long
def test_running_workers_take_a_route_and_a_new_queue_over(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers") as system, system.client() as client:
        moved = sql(system, "ALTER ROUTE TargetRoute WITH ADDRESS = 'tcp://Nowhere:4022'")
        assert moved.stdout.splitlines() == [
            "  ~ ServerA/DatabaseA/route/TargetRoute",
            "      address: tcp://ServerB:4022 > tcp://Nowhere:4022",
            "catalog version 2",
        ]
        text = "CREATE QUEUE Q2\nGO\nCREATE SERVICE Second ON QUEUE Q2 ([DEFAULT])\n"
        made = sql(system, at="ServerB/DatabaseB", given=text)
        assert f"  + topic {unique}queue.ServerB.DatabaseB.Q2" in made.stdout.splitlines()
        back = "ALTER ROUTE TargetRoute WITH ADDRESS = 'tcp://ServerB:4022'"
        both = (
            f"{back}\nCREATE ROUTE R2 WITH SERVICE_NAME = 'Second', ADDRESS = 'tcp://ServerB:4022'"
        )
        assert sql(system, both).exit_code == 0
        dialog = client.begin(*AT_A, "InitiatorService", "Second")
        client.send(dialog, b"there")
        [message] = system.received("ServerB", "DatabaseB", "Q2", 1)
        assert message.body == b"there"
        assert sql(system, "DROP ROUTE R2").stdout.startswith("  - ServerA/DatabaseA/route/R2\n")
        assert "R2" not in {r["name"] for r in rows(system, "sys.routes")}


@pytest.mark.long
def test_new_broker_ends_the_dialogs_of_a_live_database(kafka: str, unique: str) -> None:
    """As in the simulator: its conversations are removed without an Error, and new ones work."""
    with running(kafka, unique, "two_brokers") as system, system.client() as client:
        old = client.begin(*AT_A, *SERVICES)
        text = "ALTER DATABASE DatabaseA SET NEW_BROKER WITH ROLLBACK IMMEDIATE"
        assert "      broker_id: DatabaseA > " in sql(system, text).stdout
        endpoints = ("sys.conversation_endpoints", "--at", "ServerA")
        eventually(lambda: rows(system, *endpoints) == [], "the conversation is removed")
        with pytest.raises(StatementError, match="8427"):
            client.end(old, wait=True)
        new = client.begin(*AT_A, *SERVICES)
        client.send(new, b"again")
        [message] = system.received("ServerB", "DatabaseB", "TargetQueue", 1)
        assert (message.body, message.conversation.id) == (b"again", new.id)


def test_what_the_engine_refuses_changes_nothing(standing: System) -> None:
    """All or nothing: the route before the refused one is not made either."""
    version = read_catalog(standing.cluster).version
    text = (
        "CREATE ROUTE Good WITH SERVICE_NAME = 'S', ADDRESS = 'LOCAL'\n"
        "CREATE ROUTE Good WITH SERVICE_NAME = 'T', ADDRESS = 'LOCAL'"
    )
    refused = sql(standing, text)
    assert refused.exit_code == 1
    assert "  ! TA-20 line 2: route Good: the database already has a route 'Good'" in refused.stdout
    assert refused.stdout.endswith("nothing was changed\n")
    as_json = json.loads(sql(standing, text, "--format", "json").stdout)
    assert [f["code"] for f in as_json["findings"]] == ["TA-20"]
    assert as_json["version"] == read_catalog(standing.cluster).version == version


def test_a_plan_is_shown_and_not_done(standing: System) -> None:
    version = read_catalog(standing.cluster).version
    text = "CREATE ROUTE Planned WITH SERVICE_NAME = 'S', ADDRESS = 'LOCAL'"
    assert sql(standing, text, "--dry-run").stdout == "  + ServerA/DatabaseA/route/Planned\n"
    assert read_catalog(standing.cluster).version == version


def test_a_permission_that_no_worker_enforces_is_reported(standing: System) -> None:
    """Whoever denies SEND on a running system would else believe that it is denied."""
    denied = sql(standing, "DENY SEND ON SERVICE::InitiatorService TO public")
    warning = "<sql>:1: not enforced by Hopline: DENY SEND on service InitiatorService"
    assert (denied.exit_code, warning in denied.stderr) == (0, True)
    assert "not enforced" not in denied.stdout
    assert "not enforced" not in sql(standing, "CREATE QUEUE Q9", "--dry-run").stderr


def test_a_plan_does_not_overwrite_what_came_between(kafka: str, unique: str) -> None:
    with running(kafka, unique, "two_brokers", start=False) as system:
        script = Script(*AT_A, "CREATE ROUTE One WITH SERVICE_NAME = 'S', ADDRESS = 'LOCAL'")
        planned = plan_script(system.cluster, script, 0.0)
        sql(system, "CREATE ROUTE Two WITH SERVICE_NAME = 'S', ADDRESS = 'LOCAL'")
        with pytest.raises(
            SurroundingsError, match="is now at version 2, but the plan was made for 1"
        ):
            publish_script(system.cluster, planned)


def test_objects_of_another_version_stay(kafka: str, unique: str) -> None:
    """What the catalog has and this version does not understand is not dropped with a route."""
    with running(kafka, unique, "two_brokers", start=False) as system:
        state, topic = read_catalog(system.cluster), system.cluster.topics.catalog
        key = "ServerA/DatabaseA/novelty/X"
        digest = json.dumps({"hash": hash_of({**state.objects, key: "{}"})})
        producer = system.cluster.producer()
        producer.produce(topic, key=key, value=encode_catalog_object(2, "{}"))
        producer.produce(topic, key=VERSION_KEY, value=encode_catalog_object(2, digest))
        producer.flush()
        assert sql(system, "DROP ROUTE TargetRoute").stdout.splitlines() == [
            "  - ServerA/DatabaseA/route/TargetRoute",
            "catalog version 3",
        ]
        assert key in read_catalog(system.cluster).objects


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("CREATE ROUTE R WITH SERVICE_NAME = 'x", 2, "<sql>:1:"),
        ("CREATE RUTE R", 2, "<sql>:1:1: CREATE RUTE does not change the catalog"),
        ("SELECT * FROM sys.routes", 2, "Use `hopline query` for SELECT"),
        ("CREATE CERTIFICATE c WITH SUBJECT = 'x'", 0, "keeps no certificates"),
        ("PRINT 'nothing'", 0, "nothing to do"),
    ],
)
def test_a_script_without_changes_is_reported(
    standing: System, text: str, code: int, message: str
) -> None:
    result = sql(standing, text)
    assert (result.exit_code, message in result.stdout + result.stderr) == (code, True), (
        result.output
    )


def test_a_file_is_named_where_it_is_wrong(standing: System, tmp_path: Path) -> None:
    path = tmp_path / "routes.sql"
    path.write_text("\nCREATE ROUTE R WITH SERVICE_NAME = 'x", encoding="utf-16")
    result = sql(standing, "--file", str(path))
    assert result.exit_code == 2
    assert f"{path}:2:" in result.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--at", "ServerA", "DROP ROUTE R"), "'ServerA' has no database; write"),
        (("--at", "ServerX/D", "DROP ROUTE R"), "has no ServerX/D"),
    ],
)
def test_wrong_places_are_reported(standing: System, args: tuple[str, ...], message: str) -> None:
    result = invoke("sql", *args, *standing.options)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
