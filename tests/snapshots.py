"""Build snapshots of servers that do not exist, with the rows that their views would contain."""

from __future__ import annotations

import csv
import io
import json
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streams.topology import (
    SYSTEM_CONTRACTS,
    SYSTEM_MESSAGE_TYPES,
    Database,
    Encryption,
    EndpointState,
    Instance,
    Role,
    Sender,
    Topology,
    Validation,
)
from streams.topology.snapshot import VIEWS, Scope

NOW = 1_790_000_000.0
"""When the snapshots are taken, in epoch seconds."""
FOREVER = 2_147_483_647
Rows = list[dict[str, Any]]
Document = dict[str, Any]

_STATES = {EndpointState.STARTED: 0, EndpointState.STOPPED: 1, EndpointState.DISABLED: 2}
_ENCRYPTION = {Encryption.DISABLED: 0, Encryption.REQUIRED: 2, Encryption.SUPPORTED: 4}
_SYSTEM = "http://schemas.microsoft.com/SQL/"


def guid(text: str) -> str:
    """Return a GUID as SQL Server prints it, the same one for the same text."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, text)).upper()


def moment(seconds: float) -> str:
    """Return an instant as FOR JSON writes a datetime."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


def document(instance: Instance, **more: Any) -> Document:
    """Return the document that the query script would make of an instance."""
    databases = [instance.msdb, *instance.databases.values()]
    return {
        "hopline_snapshot": 1,
        "server": [
            {
                "server_name": instance.name, "machine_name": instance.name.split("\\")[0],
                "taken_at": moment(NOW), "utc_offset_minutes": 60,
            }
        ],
        "databases": [_sys_database(d, n) for n, d in enumerate(databases, 4)],
        **_mirroring(instance),
        **_endpoint(instance),
        "in_database": [inside(d) for d in databases],
        **more,
    }  # fmt: skip


def documents(topology: Topology) -> dict[str, Document]:
    """Return the documents of a whole topology, by instance."""
    return {name: document(instance) for name, instance in topology.instances.items()}


def _sys_database(database: Database, number: int) -> dict[str, Any]:
    return {
        "name": database.name, "database_id": number, "service_broker_guid": _id(database),
        "is_broker_enabled": database.enabled, "state": 0, "is_read_only": False,
        "is_honor_broker_priority_on": database.honor_priority, "user_access": 0,
    }  # fmt: skip


def _id(database: Database) -> str:
    """Return a database's broker id; the examples' short ones become GUIDs."""
    return broker_guid(database.broker_id)


def broker_guid(broker: str) -> str:
    """Return a broker id as a server would have it."""
    try:
        return str(uuid.UUID(broker)).upper()
    except ValueError:
        return guid(broker)


def _mirroring(instance: Instance) -> dict[str, Rows]:
    rows = [
        {"database_id": n, "mirroring_guid": guid(d.mirror.pair),
         "mirroring_role": 1 if d.mirror.role is Role.PRINCIPAL else 2}
        for n, d in enumerate([instance.msdb, *instance.databases.values()], 4)
        if d.mirror is not None
    ]  # fmt: skip
    return {"database_mirroring": rows}


def _endpoint(instance: Instance) -> dict[str, Rows]:
    endpoint = instance.endpoint
    row = {
        "name": endpoint.name or "BrokerEndpoint", "endpoint_id": 65536,
        "state": _STATES[endpoint.state], "is_message_forwarding_enabled": endpoint.forwarding,
        "message_forwarding_size": endpoint.forward_size_mb, "connection_auth": 3,
        "encryption_algorithm": _ENCRYPTION[endpoint.encryption],
    }  # fmt: skip
    return {
        "service_broker_endpoints": [row],
        "tcp_endpoints": [{"endpoint_id": 65536, "port": instance.address.port}],
        "server_principals": [{"principal_id": 300, "name": "DOMAIN\\sql$"}],
        "server_permissions": [
            {"class": 105, "major_id": 65536, "grantee_principal_id": 300,
             "permission_name": "CONNECT", "state": "G"}
        ],
        "availability_groups": [], "availability_group_listeners": [],
        "availability_databases_cluster": [], "dm_hadr_availability_replica_states": [],
        "dm_broker_connections": [], "dm_broker_forwarded_messages": [],
        "dm_broker_queue_monitors": [],
    }  # fmt: skip


def inside(database: Database) -> Document:
    """Return what the script makes of one database."""
    types = {name: n for n, name in enumerate([*SYSTEM_MESSAGE_TYPES, *database.message_types], 14)}
    contracts = {name: n for n, name in enumerate([*SYSTEM_CONTRACTS, *database.contracts], 6)}
    names = {*database.queues, *(s.queue for s in database.services.values())}
    queues = {name: n for n, name in enumerate(sorted(names), 1000)}
    services = {name: n for n, name in enumerate(database.services, 65536)}
    return {
        "database_name": database.name,
        "routes": [
            {"name": r.name, "route_id": r.route_id, "remote_service_name": r.service,
             "broker_instance": None if r.broker is None else broker_guid(r.broker),
             "lifetime": None if r.expires is None else moment(r.expires),
             "address": r.address, "mirror_address": r.mirror}
            for r in database.routes
        ],
        "services": [
            {"name": _SYSTEM + "ServiceBroker/ServiceBroker", "service_id": 3,
             "service_queue_id": 900},
            *(
                {"name": s.name, "service_id": services[s.name],
                 "service_queue_id": queues[s.queue]}
                for s in database.services.values()
            ),
        ],
        "service_queues": [
            {"name": "ServiceBrokerQueue", "object_id": 900, "schema_id": 1},
            *(_queue(database, name, number) for name, number in queues.items()),
        ],
        "schemas": [{"name": "dbo", "schema_id": 1}, {"name": "sales", "schema_id": 5}],
        "service_contracts": [
            {"name": name, "service_contract_id": n} for name, n in contracts.items()
        ],
        "service_contract_usages": [
            {"service_id": services[s.name], "service_contract_id": contracts[c]}
            for s in database.services.values()
            for c in s.contracts
        ],
        "service_contract_message_usages": [
            {"service_contract_id": contracts[c.name], "message_type_id": types[t],
             "is_sent_by_initiator": sender is not Sender.TARGET,
             "is_sent_by_target": sender is not Sender.INITIATOR}
            for c in database.contracts.values()
            for t, sender in c.messages.items()
        ],
        "service_message_types": [
            {"name": "DEFAULT", "message_type_id": 14, "validation": "N "},
            *(
                {"name": t.name, "message_type_id": types[t.name],
                 "validation": _VALIDATION[t.validation], "xml_collection_id": 0}
                for t in database.message_types.values()
            ),
        ],
        "conversation_priorities": [
            {"name": p.name, "service_contract_id": contracts.get(p.contract or ""),
             "local_service_id": services.get(p.local_service or ""),
             "remote_service_name": p.remote_service, "priority": p.level}
            for p in database.priorities
        ],
        "remote_service_bindings": [], "certificates": [],
        "database_principals": [{"principal_id": 0, "name": "public"}],
        "database_permissions": [
            {"class": 17, "major_id": n, "grantee_principal_id": 0, "permission_name": "SEND",
             "state": "G"}
            for n in services.values()
        ],
        "conversation_endpoints": [], "transmission_queue": [], "queue_depths": None,
        "row_counts": [],
    }  # fmt: skip


_VALIDATION = {
    Validation.NONE: "N ", Validation.EMPTY: "E ", Validation.WELL_FORMED_XML: "X ",
    Validation.VALID_XML: "X ",
}  # fmt: skip


def _queue(database: Database, name: str, number: int) -> dict[str, Any]:
    queue = database.queues.get(name)
    schema, _, plain = name.rpartition(".")
    return {
        "name": plain, "object_id": number, "schema_id": 5 if schema else 1,
        "is_receive_enabled": queue is None or queue.status,
        "is_enqueue_enabled": queue is None or queue.status,
        "is_retention_enabled": queue is not None and queue.retention,
        "is_poison_message_handling_enabled": queue is None or queue.poison_message_handling,
        "is_activation_enabled": queue is not None and queue.activated is not None,
        "activation_procedure": None if queue is None else queue.activation,
    }  # fmt: skip


# --- Changing a document -------------------------------------------------------------------------


def part(document: Document, database: str) -> Document:
    """Return what a document says of a database, to be changed."""
    return next(d for d in document["in_database"] if d["database_name"] == database)


def message(dialog: str, to: str, status: str = "", age: float = 3600, **more: Any) -> Document:
    """Return a row of sys.transmission_queue of a dialog."""
    return {
        "conversation_handle": guid(f"handle {dialog}"), "to_service_name": to,
        "to_broker_instance": None, "from_service_name": "InitiatorService",
        "service_contract_name": "DEFAULT", "enqueue_time": moment(NOW - age),
        "message_sequence_number": 0, "message_type_name": "DEFAULT",
        "is_conversation_error": False, "is_end_of_dialog": False, "body_length": 120,
        "transmission_status": status, **more,
    }  # fmt: skip


def endpoint(dialog: str, state: str = "CO", age: float = 3600, **more: Any) -> Document:
    """Return a row of sys.conversation_endpoints, of the initiator unless told otherwise."""
    return {
        "conversation_handle": guid(f"handle {dialog}"), "conversation_id": guid(dialog),
        "is_initiator": True, "service_contract_id": 6, "service_id": 65536, "state": state,
        "lifetime": moment(NOW - age + FOREVER), "far_service": "TargetService",
        "far_broker_instance": None, "security_timestamp": "1900-01-01T00:00:00",
        "send_sequence": 1, "receive_sequence": 0, "is_system": False, **more,
    }  # fmt: skip


# --- Writing it ----------------------------------------------------------------------------------


def write_json(folder: Path, found: Mapping[str, Document]) -> Path:
    """Write each document as the script's output looks: inside of an XML instruction."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, document_ in found.items():
        text = f"<?hopline {json.dumps(document_, ensure_ascii=False)}?>"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


def write_csv(folder: Path, found: Mapping[str, Document], delimiter: str = ",") -> Path:
    """Write each document as CSVs, a folder per instance."""
    for name, document_ in found.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for view in VIEWS:
            rows = flat(document_, view)
            if rows is not None:
                text = csv_text(view, rows, delimiter)
                (folder / name / f"{view}.csv").write_text(text, encoding="utf-8-sig")
    return folder


def flat(document_: Document, view: str) -> Rows | None:
    """Return the rows of a view from all parts of a document."""
    if VIEWS[view].scope is Scope.INSTANCE:
        return document_.get(view)
    parts = [d for d in document_["in_database"] if view in d]
    rows = [{"database_name": d["database_name"], **r} for d in parts for r in d[view] or []]
    return rows if parts else None


def csv_text(view: str, rows: Iterable[Mapping[str, Any]], delimiter: str = ",") -> str:
    """Return rows as a CSV with the view's columns, NULLs as SSMS writes them."""
    scope = ["database_name"] if VIEWS[view].scope is Scope.DATABASE else []
    columns = [*scope, *VIEWS[view].columns]
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column)) for column in columns])
    return file.getvalue()


def _cell(value: object) -> object:
    if value is None:
        return "NULL"
    return int(value) if isinstance(value, bool) else value
