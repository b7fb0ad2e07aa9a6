"""Statements about what exists: what each of CREATE, ALTER and DROP changes, and what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.topology import (
    Database,
    Encryption,
    EndpointState,
    Grant,
    PrivateKey,
    Securable,
    load,
)
from streams.topology.model import default_broker_id
from streams.topology.tsql.parse_security import instant_of
from tests.node.evidence import shows

from .build import NOW, from_sql, write


def counts(database: Database) -> dict[str, int]:
    """Return how many objects of each kind a database has, AutoCreatedLocal left out."""
    fields = (
        "message_types", "contracts", "queues", "services", "priorities", "bindings",
        "certificates", "schemas", "procedures",
    )  # fmt: skip
    found = {name: len(getattr(database, name)) for name in fields}
    return {**found, "routes": len(database.routes) - 1}


EVERYTHING = """
    CREATE MESSAGE TYPE M; CREATE CONTRACT C (M SENT BY ANY); CREATE QUEUE sales.Q;
    CREATE SERVICE S ON QUEUE sales.Q (C); CREATE ROUTE R WITH ADDRESS = 'LOCAL';
    CREATE BROKER PRIORITY P FOR CONVERSATION; CREATE CERTIFICATE K WITH SUBJECT = 's';
    CREATE REMOTE SERVICE BINDING B TO SERVICE 'S' WITH USER = u;
    CREATE XML SCHEMA COLLECTION sales.X AS '<x/>'
    GO
    CREATE PROCEDURE sales.Work AS PRINT 1
    GO
"""


def test_everything_can_be_dropped(tmp_path: Path) -> None:
    """DROP removes an object of every kind, whose name compares as it does elsewhere."""
    _, database = from_sql(tmp_path, EVERYTHING)
    assert set(counts(database).values()) == {1}
    topology, database = from_sql(
        tmp_path,
        EVERYTHING
        + """
        DROP SERVICE S DROP QUEUE Sales.q DROP CONTRACT C DROP MESSAGE TYPE M DROP ROUTE r;
        DROP BROKER PRIORITY p DROP CERTIFICATE k DROP REMOTE SERVICE BINDING b
        DROP XML SCHEMA COLLECTION sales.x DROP PROC IF EXISTS dbo.Other, SALES.WORK
        """,
    )
    assert set(counts(database).values()) == {0}
    assert not topology.findings and not topology.skipped


def test_names_on_the_wire_are_compared_byte_by_byte(tmp_path: Path) -> None:
    """DROP SERVICE of another case drops nothing; a second one of another case is a second one."""
    topology, database = from_sql(
        tmp_path,
        "CREATE QUEUE Q CREATE SERVICE S ON QUEUE Q CREATE SERVICE s ON QUEUE Q "
        "DROP SERVICE [S ] DROP CONTRACT c",
    )
    assert set(database.services) == {"S", "s"}
    assert [f.message for f in topology.findings] == [
        "there is no service S  in I1/DB", "there is no contract c in I1/DB",
    ]  # fmt: skip


def test_alter_changes_what_it_gives(tmp_path: Path) -> None:
    """ALTER SERVICE, MESSAGE TYPE and REMOTE SERVICE BINDING."""
    topology, database = from_sql(
        tmp_path,
        EVERYTHING
        + """
        CREATE QUEUE Other
        ALTER SERVICE S ON QUEUE dbo.Other (ADD CONTRACT D, DROP CONTRACT C, ADD CONTRACT [DEFAULT])
        ALTER MESSAGE TYPE M VALIDATION = EMPTY
        ALTER REMOTE SERVICE BINDING B WITH ANONYMOUS = ON
        ALTER SERVICE None (ADD CONTRACT D) ALTER MESSAGE TYPE None VALIDATION = NONE
        ALTER REMOTE SERVICE BINDING None WITH USER = v
        """,
    )
    service = database.services["S"]
    assert (service.queue, service.contracts) == ("Other", ("D", "DEFAULT"))
    assert database.message_types["M"].validation.value == "empty"
    [binding] = database.bindings
    assert (binding.user, binding.anonymous) == ("u", True)
    assert [f.message.split(" in ")[0] for f in topology.findings] == [
        f"there is no {what} None" for what in ("service", "message type", "remote service binding")
    ]  # fmt: skip


def test_owners_of_services_and_certificates(tmp_path: Path) -> None:
    """AUTHORIZATION of the statement, then of ALTER AUTHORIZATION; other objects are read over."""
    topology, database = from_sql(
        tmp_path,
        """
        CREATE QUEUE Q
        CREATE SERVICE S AUTHORIZATION a ON QUEUE Q; CREATE SERVICE T ON QUEUE Q
        CREATE CERTIFICATE K AUTHORIZATION a WITH SUBJECT = 's'
        ALTER AUTHORIZATION ON SERVICE::S TO b; ALTER AUTHORIZATION ON CERTIFICATE::k TO [b c]
        ALTER AUTHORIZATION ON DATABASE::DB TO sa; ALTER AUTHORIZATION ON SERVICE::s TO c
        """,
    )
    assert [s.owner for s in database.services.values()] == ["b", None]
    assert database.certificates["K"].user == "b c"
    assert [f.message for f in topology.findings] == ["there is no service s in I1/DB"]


@pytest.mark.parametrize(
    ("statements", "key", "active"),
    [
        ("CREATE CERTIFICATE K WITH SUBJECT = 's'", PrivateKey.MASTER_KEY, True),
        (
            "CREATE CERTIFICATE K ENCRYPTION BY PASSWORD = 'x' WITH SUBJECT = 's'",
            PrivateKey.PASSWORD, True,
        ),
        (
            "CREATE CERTIFICATE K FROM FILE = 'k.cer' ACTIVE FOR BEGIN_DIALOG = OFF",
            PrivateKey.ABSENT, False,
        ),
        (
            "CREATE CERTIFICATE K FROM FILE = 'k.cer' WITH PRIVATE KEY (FILE = 'k.pvk')",
            PrivateKey.MASTER_KEY, True,
        ),
        (
            "CREATE CERTIFICATE K WITH SUBJECT = 's' ALTER CERTIFICATE K REMOVE PRIVATE KEY;"
            "ALTER CERTIFICATE K WITH ACTIVE FOR BEGIN_DIALOG = OFF",
            PrivateKey.ABSENT, False,
        ),
    ],
)  # fmt: skip
def test_the_private_key_of_a_certificate(
    tmp_path: Path, statements: str, key: PrivateKey, active: bool
) -> None:
    topology, database = from_sql(tmp_path, statements)
    certificate = database.certificates["K"]
    assert (certificate.private_key, certificate.active) == (key, active)
    assert not topology.findings and not topology.skipped


@pytest.mark.parametrize(
    ("script", "known"),
    [
        ("USE D", None),
        ("CREATE DATABASE D", False),
        ("IF DB_ID('D') IS NULL CREATE DATABASE D", None),
        ("CREATE DATABASE D ON (FILENAME = 'x') FOR ATTACH", None),
        ("USE D\nGO\nCREATE MASTER KEY", True),
        ("CREATE DATABASE D\nGO\nUSE D CREATE MASTER KEY ENCRYPTION BY PASSWORD = 'x'", True),
        ("USE D\nGO\nDROP MASTER KEY", False),
        ("USE D\nGO\nCREATE MASTER KEY ENCRYPTION BY PASSWORD = @password", True),
        ("USE D\nGO\nIF NOT EXISTS (SELECT 1 FROM sys.symmetric_keys) CREATE MASTER KEY", True),
        ("CREATE DATABASE D\nGO\nUSE master CREATE MASTER KEY", False),
    ],
)
def test_a_new_database_has_no_master_key(tmp_path: Path, script: str, known: bool | None) -> None:
    """A database that is only used, attached or perhaps created may already have one."""
    databases = load(write(tmp_path, S=script), NOW).instances["S"].databases
    assert list(databases) == ["D"] and databases["D"].master_key is known


@shows("T3")
def test_databases_are_created_with_options_and_dropped(tmp_path: Path) -> None:
    script = """
        CREATE DATABASE One WITH NEW_BROKER, TRUSTWORTHY ON
        CREATE DATABASE Two ON (FILENAME = 'x') FOR ATTACH WITH ERROR_BROKER_CONVERSATIONS
        CREATE DATABASE Three; CREATE DATABASE Four
        DROP DATABASE Three, four; DROP DATABASE IF EXISTS None; DROP DATABASE None
    """
    topology = load(write(tmp_path, S=script), NOW)
    one, two = topology.instances["S"].databases.values()
    plain = load(write(tmp_path, S="CREATE DATABASE One"), NOW).instances["S"].databases["One"]
    assert (one.name, one.enabled, two.name, two.error_epoch) == ("One", True, "Two", 1)
    assert one.broker_id != plain.broker_id
    assert [f.message for f in topology.findings] == ["there is no database None in S"]


@shows("T1", "T4")
def test_restore_with_a_broker_option(tmp_path: Path) -> None:
    """It acts like ALTER DATABASE; without an option, the backup decides, and it is skipped."""
    script = """
        ALTER DATABASE One SET DISABLE_BROKER
        RESTORE DATABASE One FROM DISK = 'x' WITH
            MOVE 'data' TO 'y',
            MOVE 'log' TO 'z', REPLACE, ENABLE_BROKER
        RESTORE LOG Two FROM DISK = 'x' WITH ERROR_BROKER_CONVERSATIONS
        RESTORE DATABASE Three FROM DISK = 'x' WITH NEW_BROKER; RESTORE DATABASE @db FROM DISK = 'x'
        RESTORE DATABASE Four FROM DISK = 'x' WITH
            MOVE 'data' TO 'y', RECOVERY
        RESTORE HEADERONLY FROM DISK = 'x'
    """
    topology = load(write(tmp_path, S=script), NOW)
    one, two, three = topology.instances["S"].databases.values()
    assert (one.name, one.enabled) == ("One", True)
    assert (two.name, two.error_epoch, three.enabled) == ("Two", 1, True)
    assert three.broker_id != default_broker_id("S", "Three")
    assert not topology.findings and {s.kind for s in topology.skipped} == {"RESTORE"}


@shows("L12")
def test_an_instance_has_one_endpoint(tmp_path: Path) -> None:
    """A second one is a warning, the same again nothing; without one, nothing enters or leaves."""
    create = "CREATE ENDPOINT E STATE = STARTED AS TCP (LISTENER_PORT = 1) FOR SERVICE_BROKER ()"
    topology, _ = from_sql(tmp_path, f"{create} {create} {create.replace('T E', 'T F')}")
    endpoint = topology.instances["I1"].endpoint
    assert (endpoint.name, endpoint.encryption) == ("E", Encryption.REQUIRED)
    assert [f.subject for f in topology.findings] == ["I1"]
    topology, _ = from_sql(tmp_path, f"{create} DROP ENDPOINT e DROP ENDPOINT e")
    assert topology.instances["I1"].endpoint.state is EndpointState.STOPPED
    assert len(topology.findings) == 1


@shows("L11")
def test_a_queue_of_another_database(tmp_path: Path) -> None:
    """A three-part name states the database, and the default schema may be left out."""
    topology, database = from_sql(
        tmp_path,
        """
        CREATE QUEUE Other.sales.Q; CREATE QUEUE DB..P; ALTER QUEUE other..Gone WITH STATUS = OFF
        CREATE QUEUE Other..Gone; DROP QUEUE OTHER..gone
        ALTER QUEUE other.sales.q WITH STATUS = OFF
        """,
    )
    other = topology.instances["I1"].databases["Other"]
    assert [(q.name, q.status) for q in other.queues.values()] == [("sales.Q", False)]
    assert set(database.queues) == {"P"}
    assert [f.message for f in topology.findings] == ["there is no queue Gone in I1/Other"]


def test_the_master_key_is_no_service(tmp_path: Path) -> None:
    topology, _ = from_sql(
        tmp_path, "ALTER SERVICE MASTER KEY REGENERATE; ALTER SERVICE MASTER KEY"
    )
    assert [s.kind for s in topology.skipped] == ["ALTER SERVICE"] * 2 and not topology.findings


def test_the_last_word_of_a_permission_counts(tmp_path: Path) -> None:
    """GRANT and DENY replace each other, REVOKE takes either back; others are read over."""
    topology, database = from_sql(
        tmp_path,
        """
        GRANT SEND ON SERVICE::S TO a, b, c WITH GRANT OPTION AS dbo
        DENY SEND ON SERVICE::S TO A
        REVOKE GRANT OPTION FOR SEND ON SERVICE::S TO b CASCADE
        GRANT SEND ON SERVICE::s TO c
        GRANT CONNECT ON ENDPOINT::E TO l
        DENY CONNECT ON ENDPOINT::e TO L
        GRANT CONTROL ON SERVICE::S TO d; GRANT VIEW DEFINITION, SEND ON SERVICE::S TO e
        GRANT EXECUTE ON p TO c; GRANT SELECT (a, b) ON t TO c; GRANT VIEW SERVER STATE TO c
        GRANT CONTROL ON SERVICE TO c
        """,
    )
    send = "SEND", Securable.SERVICE
    assert database.grants == (
        Grant(*send, "S", "c"), Grant(*send, "S", "A", denied=True), Grant(*send, "s", "c"),
        Grant("CONTROL", Securable.SERVICE, "S", "d"), Grant(*send, "S", "e"),
    )  # fmt: skip
    assert topology.instances["I1"].grants == (
        Grant("CONNECT", Securable.ENDPOINT, "e", "L", denied=True),
    )
    assert [s.kind for s in topology.skipped] == ["GRANT"] * 4


@pytest.mark.parametrize(
    "text",
    ["20301231", "2030-12-31", "12/31/2030", "2030/12/31", "Dec 31 2030", "December 31, 2030",
     "2030-12-31T00:00:00", "12/31/2030  00:00", "31.12.2030", "2030-12-31 00:00:00.000"],
)  # fmt: skip
def test_dates_of_certificates(text: str) -> None:
    """The forms that SQL Server takes, as UTC."""
    assert instant_of(text) == 1924905600.0
