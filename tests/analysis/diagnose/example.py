"""The example that is shipped: ``docs/examples/stuck``, three servers with something wrong at each.

ServerB's database was restored with NEW_BROKER: A's route to it names the old broker id. ServerC's
queue was turned off by a poison message. A new service was routed nowhere. Nobody ends the dialogs
that ServerC has ended.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.snapshots import (
    NOW,
    Document,
    broker_guid,
    documents,
    endpoint,
    guid,
    message,
    moment,
    part,
)
from tests.topology.build import shipped

FOLDER = Path(__file__).parents[3] / "docs" / "examples" / "stuck"
DAY, HOUR = 86400.0, 3600.0


def example() -> dict[str, Document]:
    """Return the documents of the example."""
    found = documents(shipped("load_balanced"))
    old_b, c = broker_guid("DatabaseB"), broker_guid("DatabaseC")
    here = part(found["ServerA"], "DatabaseA")
    lost = [(f"lost {n}", 3 * DAY - n * HOUR) for n in range(12)]
    off = [(f"off {n}", HOUR - 60 * n) for n in range(5)]
    leaked = [(f"leak {n}", 20 * DAY - n * HOUR) for n in range(24)]
    new = message("new", "InvoiceService", age=40 * 60)
    new["transmission_status"] = (
        "The target service name matched a LOCAL route, but there is no service by that name in "
        "the local SQL Server instance."
    )
    here["transmission_queue"] = [
        *(message(d, "TargetService", age=age, to_broker_instance=old_b) for d, age in lost),
        new,
        message("young", "TargetService", age=4, to_broker_instance=c),
    ]
    here["conversation_endpoints"] = [
        *(endpoint(d, "CO", age, far_broker_instance=old_b) for d, age in lost),
        *(endpoint(d, "CO", age, far_broker_instance=c) for d, age in off),
        *(endpoint(d, "DI", age, far_broker_instance=c) for d, age in leaked),
        endpoint("new", "CO", 40 * 60, far_service="InvoiceService"),
        endpoint("young", "CO", 4 * HOUR, far_broker_instance=c),
    ]
    database = next(d for d in found["ServerB"]["databases"] if d["name"] == "DatabaseB")
    database["service_broker_guid"] = guid("DatabaseB after NEW_BROKER")
    there = part(found["ServerC"], "DatabaseC")
    queue = next(q for q in there["service_queues"] if q["name"] == "TargetQueue")
    queue |= {"is_receive_enabled": False, "is_enqueue_enabled": False}
    there["conversation_endpoints"] = [
        endpoint(d, "CO", HOUR, is_initiator=False, far_service="InitiatorService",
                 far_broker_instance=broker_guid("DatabaseA"), receive_sequence=1,
                 conversation_handle=guid(f"far {d}"))
        for d in (*(d for d, _ in off), "young")
    ]  # fmt: skip
    there["transmission_queue"] = [  # parked: its own queue is off
        message(f"parked {n}", "TargetService", f'The service queue "{queue["name"]}" is currently '
                "disabled.", age=HOUR - 60 * n, to_broker_instance=c)
        for n in range(5)
    ]  # fmt: skip
    for server in found.values():
        server["dm_broker_connections"] = [
            {"state": 4, "login_state": 12, "is_accept": True, "connect_time": moment(NOW),
             "last_activity_time": moment(NOW + HOUR), "principal_name": "DOMAIN\\sql$"}
        ]  # fmt: skip
    return found


def written(document: Document) -> str:
    """Return a document with a row on each line."""
    return "{" + ",\n".join(_member(k, v) for k, v in document.items()) + "}\n"


def _member(key: str, value: object) -> str:
    if key == "in_database" and isinstance(value, list):
        return f'"{key}": [' + ",\n".join(written(part_).strip() for part_ in value) + "]"
    if isinstance(value, list):
        rows = (json.dumps(_known(row)) for row in value)
        return f'"{key}": [' + ",\n  ".join(rows) + "]"
    return f'"{key}": {json.dumps(value)}'


def _known(row: Document) -> Document:
    """Leave NULLs out, as FOR JSON does."""
    return {key: value for key, value in row.items() if value is not None}
