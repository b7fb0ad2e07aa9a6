"""T-SQL: what is understood, what is read over, and what is an error with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.errors import InputError
from streams.topology import (
    EndpointState,
    Sender,
    Severity,
    Topology,
    Validation,
    apply_sql,
    load,
    queue_of,
    routing_instances,
)
from streams.topology.model import default_broker_id
from tests.node.evidence import shows

from .build import NOW, from_sql, write

CREATE = "CREATE ROUTE R WITH SERVICE_NAME = 'S', ADDRESS = 'tcp://h:4022'"


def test_every_clause_of_a_route(tmp_path: Path) -> None:
    """CREATE ROUTE takes all its clauses, in brackets, quotes, comments and any case."""
    _, database = from_sql(
        tmp_path,
        """
        /* outer /* inner */ still */
        create route [My "Route]]"] authorization dbo
            with service_name = N'//it''s', -- a comment, with 'quotes'
                 broker_instance = 'B', lifetime = 60,
                 address = 'TCP://one:1', mirror_address = 'tcp://two:2'
        """,
    )
    route = database.routes[1]
    assert (route.name, route.service, route.broker) == ('My "Route]"', "//it's", "B")
    assert (route.address, route.mirror, route.expires) == ("TCP://one:1", "tcp://two:2", NOW + 60)
    assert (route.source.line, route.source.column, route.route_id) == (4, 1, 2)


def test_alter_leaves_the_rest_unchanged(tmp_path: Path) -> None:
    """ALTER ROUTE changes the clauses that it gives, with or without commas, and no other."""
    _, database = from_sql(
        tmp_path,
        f"""
        {CREATE}; CREATE ROUTE Other WITH ADDRESS = 'tcp://o:1';
        ALTER ROUTE r WITH LIFETIME = 5 BROKER_INSTANCE = 'B';
        """,
    )
    route = database.routes[1]
    assert (route.service, route.broker, route.address) == ("S", "B", "tcp://h:4022")
    assert (route.expires, route.route_id) == (NOW + 5, 2)


def test_route_names_are_compared_without_case(tmp_path: Path) -> None:
    """U-01: a second one is refused, ALTER and DROP find it."""
    topology, database = from_sql(tmp_path, f"{CREATE}; CREATE ROUTE r WITH ADDRESS = 'LOCAL'")
    assert [route.name for route in database.routes] == ["AutoCreatedLocal", "R"]
    assert [(f.code, f.line, f.column) for f in topology.findings] == [("TA-20", 2, 67)]
    _, database = from_sql(tmp_path, f"{CREATE}; ALTER ROUTE r WITH LIFETIME = 5")
    assert database.routes[1].expires == NOW + 5
    _, database = from_sql(tmp_path, f"{CREATE}; DROP ROUTE r; DROP ROUTE autocreatedlocal")
    assert database.routes == ()


def test_drop_route(tmp_path: Path) -> None:
    """DROP ROUTE removes a route, AutoCreatedLocal too; its name may be used again."""
    _, database = from_sql(tmp_path, f"{CREATE} DROP ROUTE R DROP ROUTE AutoCreatedLocal {CREATE}")
    assert [(r.name, r.route_id) for r in database.routes] == [("R", 3)]


def test_statements_without_semicolons(tmp_path: Path) -> None:
    """Statements end where the next one begins; GO separates batches, also with a count."""
    _, database = from_sql(
        tmp_path,
        """
        CREATE QUEUE Q CREATE SERVICE S ON QUEUE Q
        GO
        CREATE CONTRACT C ([//m] SENT BY ANY)
        go 5
        CREATE MESSAGE TYPE [//m];;
          GO -- the end
        """,
    )
    assert set(database.services) == {"S"} and set(database.contracts) == {"C"}
    assert set(database.message_types) == {"//m"}


def test_go_inside_a_string_is_text(tmp_path: Path) -> None:
    """A line GO within a string or a comment separates nothing."""
    topology, database = from_sql(tmp_path, f"PRINT '\nGO\n'; /*\nGO\n*/ {CREATE}")
    assert [s.kind for s in topology.skipped] == ["PRINT"]
    assert [r.name for r in database.routes] == ["AutoCreatedLocal", "R"]


def test_objects_of_a_dialog(tmp_path: Path) -> None:
    """Message types, contracts, queues and services with all their clauses."""
    _, database = from_sql(
        tmp_path,
        """
        CREATE MESSAGE TYPE [//Order] AUTHORIZATION dbo VALIDATION = WELL_FORMED_XML;
        CREATE MESSAGE TYPE [//Reply] VALIDATION = VALID_XML WITH SCHEMA COLLECTION dbo.Replies;
        CREATE CONTRACT [//C] ([//Order] SENT BY INITIATOR, [//Reply] SENT BY TARGET);
        CREATE QUEUE sales.Orders WITH STATUS = OFF, RETENTION = ON,
            ACTIVATION (STATUS = ON, PROCEDURE_NAME = dbo.work, MAX_QUEUE_READERS = 5,
                        EXECUTE AS SELF),
            POISON_MESSAGE_HANDLING (STATUS = OFF) ON [DEFAULT];
        CREATE QUEUE dbo.Plain;
        CREATE SERVICE [//Target] AUTHORIZATION dbo ON QUEUE sales.Orders ([//C], [DEFAULT]);
        CREATE SERVICE [//Only begins] ON QUEUE [dbo].[Plain];
        """,
    )
    assert database.message_types["//Order"].validation is Validation.WELL_FORMED_XML
    assert database.message_types["//Reply"].schema == "Replies"
    assert database.contracts["//C"].messages == {
        "//Order": Sender.INITIATOR, "//Reply": Sender.TARGET,
    }  # fmt: skip
    queue = queue_of(database, "//Target")
    assert queue is not None and queue.name == "sales.Orders" and queue.activation == "dbo.work"
    assert (queue.status, queue.retention, queue.poison_message_handling) == (False, True, False)
    assert database.services["//Target"].contracts == ("//C", "DEFAULT")
    assert database.services["//Only begins"].contracts == ()
    assert database.services["//Only begins"].queue == "Plain"


def test_endpoint(tmp_path: Path) -> None:
    """CREATE ENDPOINT without STATE is stopped, as in the engine; ALTER starts it."""
    create = (
        "CREATE ENDPOINT E AS TCP (LISTENER_PORT = 4099, LISTENER_IP = (10.0.0.1)) FOR "
        "SERVICE_BROKER (AUTHENTICATION = WINDOWS NEGOTIATE CERTIFICATE c, "
        "ENCRYPTION = REQUIRED ALGORITHM AES, MESSAGE_FORWARDING = ENABLED, "
        "MESSAGE_FORWARD_SIZE = 25);"
    )
    topology, _ = from_sql(tmp_path, create)
    endpoint = topology.instances["I1"].endpoint
    assert endpoint.state is EndpointState.STOPPED
    assert (endpoint.forwarding, endpoint.forward_size_mb, endpoint.port) == (True, 25, 4099)
    assert str(topology.instances["I1"].address) == "tcp://I1:4099"
    topology, _ = from_sql(tmp_path, create + "ALTER ENDPOINT E STATE = STARTED;")
    assert topology.instances["I1"].started and topology.instances["I1"].endpoint.forwarding


@pytest.mark.parametrize("ip", ["ALL", "(10.0.0.1)", "'::1'"])
def test_listener_clauses_need_no_comma(tmp_path: Path, ip: str) -> None:
    listener = f"LISTENER_PORT = 4099 LISTENER_IP = {ip}"
    topology, _ = from_sql(tmp_path, f"CREATE ENDPOINT E AS TCP ({listener}) FOR SERVICE_BROKER")
    assert topology.instances["I1"].endpoint.port == 4099


@pytest.mark.parametrize(
    "protocol",
    [
        "TCP (LISTENER_PORT = 5022) FOR DATABASE_MIRRORING (ROLE = PARTNER)",
        "HTTP (PATH = '/sql', AUTHENTICATION = (INTEGRATED), PORTS = (CLEAR), SITE = 'h')\n"
        "FOR SOAP (WEBMETHOD 'M' (NAME = 'db.dbo.p'), WSDL = DEFAULT)",
    ],
)
def test_another_endpoint_is_read_over(tmp_path: Path, protocol: str) -> None:
    """An endpoint for mirroring or SOAP says nothing about Service Broker."""
    topology, _ = from_sql(tmp_path, f"CREATE ENDPOINT M STATE = STOPPED AS {protocol};")
    assert topology.instances["I1"].started and topology.skipped[0].kind == "CREATE ENDPOINT"


def test_databases(tmp_path: Path) -> None:
    """USE and CREATE DATABASE create a database; ALTER DATABASE moves its delivery switch."""
    topology = load(
        write(
            tmp_path,
            S="""
            USE master;
            CREATE DATABASE One ON PRIMARY (NAME = f, FILENAME = 'x')
            LOG ON (NAME = l);
            CREATE DATABASE Two
            ALTER DATABASE One
                SET DISABLE_BROKER WITH ROLLBACK IMMEDIATE;
            ALTER DATABASE Two SET RECOVERY SIMPLE;
            USE two
            ALTER DATABASE CURRENT SET NEW_BROKER;
            """,
        ),
        NOW,
    )
    one, two = topology.instances["S"].databases.values()
    assert (one.name, one.enabled, two.name, two.enabled) == ("One", False, "Two", True)
    again = load(write(tmp_path, S="CREATE DATABASE One; CREATE DATABASE Two"), NOW)
    before = again.instances["S"].databases
    assert one.broker_id == before["One"].broker_id
    assert two.broker_id != before["Two"].broker_id
    assert [s.kind for s in topology.skipped] == ["ALTER DATABASE"]


@shows("T5")
def test_a_closed_database_delivers_nothing(tmp_path: Path) -> None:
    """READ_ONLY and SINGLE_USER stop the broker, which stays enabled; NEW_BROKER fails (9775)."""
    script = """
        ALTER DATABASE One SET READ_ONLY WITH NO_WAIT
        ALTER DATABASE One SET NEW_BROKER
        ALTER DATABASE Two SET SINGLE_USER WITH ROLLBACK IMMEDIATE
        ALTER DATABASE Three SET READ_ONLY, SINGLE_USER; ALTER DATABASE Three SET READ_WRITE
        ALTER DATABASE Three SET MULTI_USER
        ALTER DATABASE Four SET ENABLE_BROKER
        ALTER DATABASE Four SET QUERY_STORE (OPERATION_MODE = READ_ONLY)
        ALTER DATABASE Four MODIFY FILEGROUP F READ_ONLY
    """
    topology = load(write(tmp_path, S=script), NOW)
    databases = topology.instances["S"].databases
    assert [(d.name, d.enabled, d.delivers) for d in databases.values()] == [
        ("One", True, False), ("Two", True, False), ("Three", True, True), ("Four", True, True),
    ]  # fmt: skip
    assert databases["One"].broker_id == default_broker_id("S", "One")
    assert [f.evidence["number"] for f in topology.findings] == [9775]
    compiled = routing_instances(topology)["S"].databases
    assert [compiled[name].enabled for name in databases] == [False, False, True, True]
    assert [s.kind for s in topology.skipped] == ["ALTER DATABASE", "ALTER DATABASE"]


def test_msdb_is_selected_like_any_other(tmp_path: Path) -> None:
    """USE msdb leads to the routes for messages from outside."""
    topology = load(write(tmp_path, S=f"USE MSDB; {CREATE}; DROP ROUTE AutoCreatedLocal"), NOW)
    assert [r.name for r in topology.instances["S"].msdb.routes] == ["R"]
    assert not topology.instances["S"].databases


def test_unknown_statements_are_recorded(tmp_path: Path) -> None:
    """What is not understood is skipped with kind and line, and changes nothing else."""
    topology, database = from_sql(
        tmp_path,
        f"""
        SET NOCOUNT ON
        DECLARE @h uniqueidentifier;
        IF NOT EXISTS (SELECT * FROM sys.routes) {CREATE};
        GRANT CREATE ROUTE TO bob
        INSERT INTO t VALUES ('CREATE ROUTE X'), (1)
        :out it 's
        GO
        CREATE OR ALTER PROCEDURE p AS BEGIN
            DROP ROUTE R;
        END
        GO
        """,
    )
    kinds = [(s.kind, s.line) for s in topology.skipped]
    assert kinds == [
        ("SET", 3), ("GRANT", 6), ("INSERT", 7), (":out it 's", 8),
        ("DROP ROUTE in a procedure", 11),
    ]  # fmt: skip
    assert [r.name for r in database.routes] == ["AutoCreatedLocal", "R"]


def test_what_has_no_effect_is_a_warning(tmp_path: Path) -> None:
    """A second object of a name and a route that is not there are reported and not applied."""
    topology, database = from_sql(
        tmp_path,
        "CREATE QUEUE Q; CREATE QUEUE Q; CREATE QUEUE Q WITH STATUS = OFF; DROP ROUTE No;"
        "ALTER ROUTE No WITH LIFETIME = 1",
    )
    assert [(f.code, f.severity) for f in topology.findings] == [("TA-20", Severity.WARNING)] * 3
    assert database.queues["Q"].status


def test_a_statement_needs_a_database(tmp_path: Path) -> None:
    """Without USE, the only database is meant; where there is none, nothing is guessed."""
    with pytest.raises(InputError, match="no database is selected"):
        load(write(tmp_path, S=CREATE), NOW)
    yaml = "instances: {S: {databases: {DB: {}}, sql: [S.sql]}}"
    topology = load(write(tmp_path, yaml, S=CREATE), NOW)
    assert len(topology.instances["S"].databases["DB"].routes) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """Scripts may be UTF-8 or UTF-16 with its mark, as SQL Server's tools write them."""
    text = "USE [Größe]\r\nGO\r\nCREATE QUEUE 列\r\nGO\r\n"
    (tmp_path / "S.sql").write_bytes(text.encode(encoding))
    assert load(tmp_path, NOW).instances["S"].databases["Größe"].queues["列"].source.line == 3


def test_another_encoding_is_an_error(tmp_path: Path) -> None:
    """A file that is neither says where."""
    (tmp_path / "S.sql").write_bytes("USE DB\n-- Größe".encode("latin-1"))
    with pytest.raises(InputError) as caught:
        load(tmp_path, NOW)
    assert (caught.value.line, caught.value.column) == (2, 6)


def test_apply_sql(tmp_path: Path) -> None:
    """apply_sql changes a loaded topology with the same code; new findings are at the end."""
    topology: Topology = load(write(tmp_path, S="USE DB"), NOW)
    after = apply_sql(topology, "s", "db", f"{CREATE}, LIFETIME = 9; {CREATE}", NOW)
    route = after.instances["S"].databases["DB"].routes[1]
    assert (route.name, route.expires) == ("R", NOW + 9)
    assert [f.evidence["rule"] for f in after.findings] == ["V14"]
    assert len(topology.instances["S"].databases["DB"].routes) == 1
