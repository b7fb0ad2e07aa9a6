"""The views of message types, contracts, priorities, bindings and databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams.kafka import Cluster
from streams.live.views.places import Asked, places_of
from streams.live.views.select import answer
from streams.live.views.table import VIEWS
from streams.node.object_ids import object_id, queue_id
from streams.topology import Topology
from streams.wire import Topics
from tests.topology.build import from_sql

SCRIPT = """
    ALTER DATABASE DB SET NEW_BROKER; ALTER DATABASE DB SET HONOR_BROKER_PRIORITY ON;
    CREATE XML SCHEMA COLLECTION dbo.Orders AS '<x/>'
    GO
    CREATE MESSAGE TYPE Request VALIDATION = VALID_XML WITH SCHEMA COLLECTION dbo.Orders;
    CREATE MESSAGE TYPE Reply VALIDATION = WELL_FORMED_XML;
    CREATE MESSAGE TYPE Nothing VALIDATION = EMPTY; CREATE MESSAGE TYPE Anything;
    CREATE CONTRACT Ordering
        (Request SENT BY INITIATOR, Reply SENT BY TARGET, Anything SENT BY ANY);
    CREATE QUEUE Q; CREATE SERVICE Sales ON QUEUE Q (Ordering, [DEFAULT]);
    CREATE BROKER PRIORITY High FOR CONVERSATION
        SET (CONTRACT_NAME = Ordering, REMOTE_SERVICE_NAME = 'Stock', PRIORITY_LEVEL = 9);
    CREATE REMOTE SERVICE BINDING ToStock TO SERVICE 'Stock'
        WITH USER = StockUser, ANONYMOUS = ON;
"""
ROWS: dict[str, list[dict[str, Any]]] = {
    "sys.service_message_types": [
        {"name": "Request", "validation": "X", "validation_desc": "XML"},
        {"name": "Reply", "validation": "X", "validation_desc": "XML", "xml_collection_name": None},
        {"name": "Nothing", "validation": "E", "validation_desc": "EMPTY"},
        {"name": "Anything", "validation": "N", "validation_desc": "NONE"},
    ],
    "sys.service_contracts": [{"name": "Ordering"}],
    "sys.service_contract_message_usages": [
        {"message_type_name": "Request", "is_sent_by_initiator": True, "is_sent_by_target": False},
        {"message_type_name": "Reply", "is_sent_by_initiator": False, "is_sent_by_target": True},
        {"message_type_name": "Anything", "is_sent_by_initiator": True, "is_sent_by_target": True},
    ],
    "sys.service_contract_usages": [
        {"service_name": "Sales", "contract_name": "Ordering"},
        {"service_name": "Sales", "contract_name": "DEFAULT"},
    ],
    "sys.service_queue_usages": [{"service_name": "Sales", "queue_name": "Q"}],
    "sys.conversation_priorities": [
        {
            "name": "High", "priority": 9, "contract_name": "Ordering",
            "local_service_name": None, "remote_service_name": "Stock",
        }
    ],
    "sys.remote_service_bindings": [
        {
            "name": "ToStock", "remote_service_name": "Stock", "service_contract_id": 0,
            "remote_principal_name": "StockUser", "is_anonymous_on": True,
        }
    ],
    "sys.databases": [
        {"name": "DB", "is_broker_enabled": True, "is_honor_broker_priority_on": True}
    ],
}  # fmt: skip


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    topology: Topology
    topology, _ = from_sql(tmp_path, SCRIPT)
    assert not topology.findings
    cluster = Cluster("127.0.0.1:1", Topics("views."))  # these views do not read it
    return Asked(cluster, topology, places_of(topology, "I1/DB"), 0)


@pytest.mark.parametrize("name", ROWS)
def test_what_a_script_creates_has_rows(asked: Asked, name: str) -> None:
    view = VIEWS[name]
    rows = list(view.rows(asked))
    assert [set(row) for row in rows] == [set(view.columns)] * len(ROWS[name])
    for row, expected in zip(rows, ROWS[name], strict=True):
        assert row == row | expected


def test_the_broker_id_is_that_of_the_database(asked: Asked) -> None:
    [row] = VIEWS["sys.databases"].rows(asked)
    assert row["service_broker_guid"] == asked.topology.instances["I1"].databases["DB"].broker_id


def test_views_are_joined_by_names(asked: Asked) -> None:
    select = """
        SELECT u.service_name, m.message_type_name
        FROM sys.service_contract_usages u JOIN sys.service_contract_message_usages m
            ON m.contract_name = u.contract_name
        WHERE m.is_sent_by_initiator = 1 ORDER BY 2
    """
    with answer(asked, select, str) as found:
        assert [tuple(row.values()) for row in found.rows] == [
            ("Sales", "Anything"),
            ("Sales", "Request"),
        ]


IDS = {
    "service_id": ("sys.services", "name"),
    "local_service_id": ("sys.services", "name"),
    "service_queue_id": ("sys.service_queues", "name"),
    "service_contract_id": ("sys.service_contracts", "name"),
    "message_type_id": ("sys.service_message_types", "name"),
}
NAMES = {
    "service_id": "service_name",
    "local_service_id": "local_service_name",
    "service_queue_id": "queue_name",
    "service_contract_id": "contract_name",
    "message_type_id": "message_type_name",
}


@pytest.mark.parametrize("name", [name for name in ROWS if name.endswith(("usages", "priorities"))])
def test_views_are_joined_by_ids(asked: Asked, name: str) -> None:
    """An id leads to the row with the name that is in the additional column."""
    for row in VIEWS[name].rows(asked):
        for column, (view, own) in IDS.items():
            if row.get(column) is not None and row[NAMES[column]] != "DEFAULT":
                key = "object_id" if view == "sys.service_queues" else column.removeprefix("local_")
                [found] = [one for one in VIEWS[view].rows(asked) if one[key] == row[column]]
                assert found[own] == row[NAMES[column]]
            elif column in row:
                assert row[column] == object_id(row[NAMES[column]])


def test_ids_are_those_of_users_objects() -> None:
    """Above those of the system, and the same in every process and version."""
    assert object_id("Sales") == 1_513_494_334
    assert queue_id("dbo.Q") == queue_id("DBO.q") != object_id("dbo.Q")
    assert object_id(None) is None
    assert all(65536 <= (object_id(chr(n)) or 0) < 2**31 for n in range(2000))
