"""What dialogs ask of a database beyond services: priorities, queue settings, schemas, switches."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams.topology import (
    Database,
    Priority,
    Severity,
    apply_sql,
    flatten,
    load,
    queue_of,
    schema_of,
    unflatten,
)

from .build import NOW, from_sql, from_yaml, write

XSD = '<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"/>'


def test_broker_priorities(tmp_path: Path) -> None:
    """CREATE, ALTER and DROP BROKER PRIORITY; ANY and DEFAULT stand for absent clauses (4.12)."""
    topology, database = from_sql(
        tmp_path,
        """
        CREATE QUEUE Q CREATE SERVICE [//L] ON QUEUE Q
        CREATE CONTRACT [//C] ([DEFAULT] SENT BY ANY)
        CREATE BROKER PRIORITY All_of_them FOR CONVERSATION
        SET NOCOUNT ON
        CREATE BROKER PRIORITY Fast FOR CONVERSATION
            SET (CONTRACT_NAME = [//C], LOCAL_SERVICE_NAME = [//L]
                 REMOTE_SERVICE_NAME = N'//R', PRIORITY_LEVEL = 9);
        CREATE BROKER PRIORITY Slow FOR CONVERSATION
            SET (CONTRACT_NAME = [//C], LOCAL_SERVICE_NAME = ANY, PRIORITY_LEVEL = DEFAULT);
        CREATE BROKER PRIORITY Gone FOR CONVERSATION SET (REMOTE_SERVICE_NAME = '//R');
        ALTER BROKER PRIORITY slow FOR CONVERSATION SET (PRIORITY_LEVEL = 1);
        ALTER BROKER PRIORITY Fast FOR CONVERSATION SET (CONTRACT_NAME = ANY);
        DROP BROKER PRIORITY Gone;
        """,
    )
    assert database.priorities == (
        Priority("All_of_them"),
        Priority("Fast", None, "//L", "//R", 9),
        Priority("Slow", "//C", None, None, 1),
    )
    assert not topology.findings and [s.kind for s in topology.skipped] == ["SET"]


def test_priorities_that_the_engine_refuses(tmp_path: Path) -> None:
    """A name or criteria that are taken, and a priority that is not there, change nothing."""
    topology, database = from_sql(
        tmp_path,
        """
        CREATE CONTRACT C ([DEFAULT] SENT BY ANY) CREATE CONTRACT D ([DEFAULT] SENT BY ANY)
        CREATE BROKER PRIORITY P FOR CONVERSATION SET (CONTRACT_NAME = C);
        CREATE BROKER PRIORITY P FOR CONVERSATION SET (CONTRACT_NAME = D);
        CREATE BROKER PRIORITY Q FOR CONVERSATION SET (CONTRACT_NAME = C, PRIORITY_LEVEL = 2);
        CREATE BROKER PRIORITY R FOR CONVERSATION SET (CONTRACT_NAME = D);
        ALTER BROKER PRIORITY R FOR CONVERSATION SET (CONTRACT_NAME = C);
        ALTER BROKER PRIORITY No FOR CONVERSATION SET (PRIORITY_LEVEL = 2);
        DROP BROKER PRIORITY No;
        """,
    )
    assert database.priorities == (Priority("P", "C"), Priority("R", "D"))
    assert [(f.severity, f.line) for f in topology.findings] == [
        (Severity.WARNING, line) for line in (5, 6, 8, 9, 10)
    ]


def test_alter_queue(tmp_path: Path) -> None:
    """ALTER QUEUE changes what it gives, of a declared queue and of one that a service names."""
    topology, database = from_sql(
        tmp_path,
        """
        CREATE QUEUE Q WITH RETENTION = ON, ACTIVATION (PROCEDURE_NAME = p, MAX_QUEUE_READERS = 2);
        ALTER QUEUE dbo.q WITH STATUS = OFF, POISON_MESSAGE_HANDLING (STATUS = OFF);
        CREATE SERVICE S ON QUEUE Undeclared;
        ALTER QUEUE Undeclared WITH STATUS = OFF, STATUS = ON, RETENTION = ON;
        ALTER QUEUE No WITH STATUS = OFF;
        ALTER QUEUE Q REBUILD WITH (MAXDOP = 2);
        """,
    )
    queue = database.queues["Q"]
    assert (queue.status, queue.retention, queue.poison_message_handling) == (False, True, False)
    assert (queue.activation, queue.max_readers) == ("p", 2)
    served = queue_of(database, "S")
    assert served is not None and (served.status, served.retention) == (True, True)
    assert [f.severity for f in topology.findings] == [Severity.WARNING]
    assert [s.kind for s in topology.skipped] == ["ALTER QUEUE"]


def test_alter_queue_activation(tmp_path: Path) -> None:
    """Off it keeps its procedure, for when it is on again; dropped it has none."""
    create = "CREATE QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = p, MAX_QUEUE_READERS = 2);"
    off = "ALTER QUEUE Q WITH ACTIVATION (STATUS = OFF)"
    for script, kept, activated in (
        ("ALTER QUEUE Q WITH ACTIVATION (STATUS = ON)", ("p", 2), "p"),
        (off, ("p", 2), None),
        (f"{off}; ALTER QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = q)", ("q", 2), None),
        (f"{off}; ALTER QUEUE Q WITH ACTIVATION (STATUS = ON)", ("p", 2), "p"),
        ("ALTER QUEUE Q WITH ACTIVATION (DROP)", (None, 1), None),
        (f"{off}; ALTER QUEUE Q WITH ACTIVATION (DROP)", (None, 1), None),
    ):
        topology, database = from_sql(tmp_path, f"{create} {script}")
        queue = database.queues["Q"]
        assert ((queue.activation, queue.max_readers), queue.activated) == (kept, activated)
        assert unflatten(flatten(topology)).instances["I1"].databases["DB"].queues["Q"] == queue


def test_a_procedure_that_is_added_does_not_turn_activation_on(tmp_path: Path) -> None:
    """ALTER QUEUE: adding a procedure "does not change the activation status of the queue"."""
    added = "ALTER QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = p)"
    on = "ALTER QUEUE Q WITH ACTIVATION (STATUS = ON)"
    both = "ALTER QUEUE Q WITH ACTIVATION (STATUS = ON, PROCEDURE_NAME = p)"
    dropped = "ALTER QUEUE Q WITH ACTIVATION (DROP)"
    for script, activated in (
        (f"CREATE QUEUE Q; {added}", None),
        (f"CREATE QUEUE Q; {added}; {on}", "p"),
        (f"CREATE QUEUE Q; {both}", "p"),
        (f"CREATE QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = q); {dropped}; {added}", None),
    ):
        _, database = from_sql(tmp_path, script)
        queue = database.queues["Q"]
        assert (queue.activation, queue.activated) == ("p", activated), script


def test_error_broker_conversations_begins_another_epoch(tmp_path: Path) -> None:
    """Each ERROR_BROKER_CONVERSATIONS counts; delivery is on and the broker id kept (1.5)."""
    _, before = from_sql(tmp_path, "ALTER DATABASE DB SET DISABLE_BROKER;")
    topology, database = from_sql(
        tmp_path,
        """
        ALTER DATABASE DB SET DISABLE_BROKER;
        ALTER DATABASE DB SET ERROR_BROKER_CONVERSATIONS WITH ROLLBACK IMMEDIATE;
        """,
    )
    assert (before.enabled, before.error_epoch) == (False, 0)
    assert (database.enabled, database.error_epoch) == (True, 1)
    assert database.broker_id == before.broker_id
    again = apply_sql(topology, "I1", "DB", "ALTER DATABASE CURRENT SET NEW_BROKER", NOW)
    assert again.instances["I1"].databases["DB"].error_epoch == 1
    again = apply_sql(again, "I1", "DB", "ALTER DATABASE DB SET ERROR_BROKER_CONVERSATIONS", NOW)
    assert unflatten(flatten(again)).instances["I1"].databases["DB"].error_epoch == 2


def test_honor_broker_priority(tmp_path: Path) -> None:
    """It is off until it is set, alone or beside other options (4.12)."""

    def honors(options: str) -> bool:
        _, database = from_sql(tmp_path, f"ALTER DATABASE DB SET {options}")
        assert database.enabled
        return database.honor_priority

    assert honors("HONOR_BROKER_PRIORITY ON") and honors("ENABLE_BROKER, HONOR_BROKER_PRIORITY ON")
    assert not honors("RECOVERY SIMPLE")
    assert not honors("HONOR_BROKER_PRIORITY ON; ALTER DATABASE DB SET HONOR_BROKER_PRIORITY OFF")
    assert from_yaml(tmp_path, "{honor_broker_priority: on}")[1].honor_priority


def demanded(database: Database, message_type: str) -> str | None:
    """Return the text that a message type's schema collection holds."""
    found = database.message_types.get(message_type)
    assert found is not None
    return schema_of(database, found)


def test_schema_collections(tmp_path: Path) -> None:
    """A message type finds its collection's text, whatever the prefix and the case."""
    topology, database = from_sql(
        tmp_path,
        f"""
        CREATE XML SCHEMA COLLECTION dbo.Orders AS N'{XSD}';
        CREATE XML SCHEMA COLLECTION sales.Orders AS '<other/>';
        CREATE XML SCHEMA COLLECTION Orders AS '<second/>';
        CREATE XML SCHEMA COLLECTION FromVariable AS @schema;
        CREATE MESSAGE TYPE M VALIDATION = VALID_XML WITH SCHEMA COLLECTION orders;
        CREATE MESSAGE TYPE S VALIDATION = VALID_XML WITH SCHEMA COLLECTION sales.Orders;
        CREATE MESSAGE TYPE N VALIDATION = VALID_XML WITH SCHEMA COLLECTION FromVariable;
        CREATE MESSAGE TYPE P;
        """,
    )
    assert [demanded(database, name) for name in "MSNP"] == [XSD, "<other/>", None, None]
    assert [s.kind for s in topology.skipped] == ["CREATE XML"]
    assert [(f.severity, f.line) for f in topology.findings] == [(Severity.WARNING, 5)]
    assert unflatten(flatten(topology)) == topology


@pytest.mark.parametrize("stated", ["order.xsd", f"'{XSD}'"])
def test_schemas_in_yaml(tmp_path: Path, stated: str) -> None:
    """YAML gives a schema inline or names a file beside it."""
    (tmp_path / "order.xsd").write_text(XSD, encoding="utf-8")
    yaml = f"""
        instances:
          I1:
            databases:
              DB:
                schemas: {{Orders: {stated}}}
                message_types: {{M: {{validation: valid_xml, schema: Orders}}}}
    """
    topology = load(write(tmp_path, yaml), NOW)
    assert demanded(topology.instances["I1"].databases["DB"], "M") == XSD
