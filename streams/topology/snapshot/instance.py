"""Build an instance of the model from its rows: endpoint, addresses, databases, roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streams.topology.findings import NOWHERE, Source
from streams.topology.model import MSDB, Endpoint, EndpointState, Instance
from streams.topology.objects import Database, Mirror, Role
from streams.topology.security import Encryption, Grant, Securable
from streams.topology.snapshot.database import build_database, built_in, grant
from streams.topology.snapshot.rows import DATABASE, Rows, ViewRow
from streams.topology.snapshot.views import VIEWS, Scope, View

_ENDPOINT_STATES = {0: EndpointState.STARTED, 1: EndpointState.STOPPED, 2: EndpointState.DISABLED}
_ENCRYPTION = {
    0: (Encryption.DISABLED, ()),
    1: (Encryption.REQUIRED, ("RC4",)),
    2: (Encryption.REQUIRED, ("AES",)),
    3: (Encryption.SUPPORTED, ("RC4",)),
    4: (Encryption.SUPPORTED, ("AES",)),
    5: (Encryption.REQUIRED, ("RC4", "AES")),
    6: (Encryption.REQUIRED, ("AES", "RC4")),
    7: (Encryption.SUPPORTED, ("RC4", "AES")),
    8: (Encryption.SUPPORTED, ("AES", "RC4")),
}  # fmt: skip
"""``encryption_algorithm`` of sys.service_broker_endpoints; NONE before a name means SUPPORTED."""
_AUTHENTICATION = {
    1: ("WINDOWS", "NTLM"), 2: ("WINDOWS", "KERBEROS"), 3: ("WINDOWS", "NEGOTIATE"),
    4: ("CERTIFICATE",), 5: ("WINDOWS", "NTLM", "CERTIFICATE"),
    6: ("WINDOWS", "KERBEROS", "CERTIFICATE"), 7: ("WINDOWS", "NEGOTIATE", "CERTIFICATE"),
    8: ("CERTIFICATE", "WINDOWS", "NTLM"), 9: ("CERTIFICATE", "WINDOWS", "KERBEROS"),
    10: ("CERTIFICATE", "WINDOWS", "NEGOTIATE"),
}  # fmt: skip
_HADR_ROLES = {1: Role.PRINCIPAL, 2: Role.MIRROR}
_NOT_READ = frozenset({"master", "model", "tempdb"})
"""Databases that are imported only if they have services or dialogs of their own."""


def build_instance(rows: Rows, name: str, at: Source = NOWHERE) -> Instance:
    """Return an instance; ``at`` is the file or folder of its snapshot."""
    described = {str(r["name"]).casefold(): r for r in rows.of("databases")}
    mirrors = _mirrors(rows)
    databases: dict[str, Database] = {}
    for database in _names(rows):
        row = described.get(database.casefold())
        mirror = mirrors.get(database.casefold())
        databases[database] = build_database(rows, row, database, name, mirror)
    msdb = next((d for n, d in databases.items() if n.casefold() == MSDB), None)
    endpoint = _endpoint(rows)
    return Instance(
        name,
        msdb or build_database(rows, None, MSDB, name, None),
        {n: d for n, d in databases.items() if d is not msdb},
        aliases=_aliases(rows, name),
        listeners=_listeners(rows, endpoint),
        endpoint=endpoint,
        grants=_grants(rows),
        source=at,
    )


def name_of(rows: Rows, fallback: str) -> str:
    """Return an instance's name from the server, or else from its file or folder."""
    names = (row["server_name"] for row in rows.of("server"))
    return next((str(name) for name in names if name), fallback)


def _names(rows: Rows) -> list[str]:
    """Return the databases in sys.databases, and all databases with rows in any view."""
    found: dict[str, str] = {}
    for row in rows.of("databases"):
        if str(row["name"]).casefold() not in _NOT_READ:
            found.setdefault(str(row["name"]).casefold(), str(row["name"]))
    inside = [view for view in VIEWS.values() if view.scope is Scope.DATABASE]
    for view in inside:
        for row in rows.of(view.name):
            database = str(row[DATABASE])
            if database.casefold() not in _NOT_READ or _in_use(view, row):
                found.setdefault(database.casefold(), database)
    return list(found.values())


def _in_use(view: View, row: ViewRow) -> bool:
    if view.name == "services":
        return not built_in(str(row["name"]))
    return view.name in ("transmission_queue", "conversation_endpoints")


def _endpoint(rows: Rows) -> Endpoint:
    if "service_broker_endpoints" not in rows.present:
        return Endpoint()
    found = rows.of("service_broker_endpoints")
    if not found:  # without an endpoint, no message can enter or leave an instance (9666, 9748)
        return Endpoint(EndpointState.STOPPED)
    row = found[0]
    ports = {r["endpoint_id"]: r["port"] for r in rows.of("tcp_endpoints")}
    encryption, algorithms = _ENCRYPTION.get(row["encryption_algorithm"], _ENCRYPTION[2])
    return Endpoint(
        _ENDPOINT_STATES.get(row["state"], EndpointState.STARTED),
        bool(row["is_message_forwarding_enabled"]),
        10 if row["message_forwarding_size"] is None else row["message_forwarding_size"],
        port=ports.get(row["endpoint_id"]),
        name=row["name"],
        encryption=encryption,
        algorithms=algorithms,
        authentication=_AUTHENTICATION.get(row["connection_auth"], ()),
        source=row.source,
    )


def _aliases(rows: Rows, name: str) -> tuple[str, ...]:
    names = [row["machine_name"] for row in rows.of("server")]
    names += [row["server_name"] for row in rows.of("server")]
    names += [row["local_net_address"] for row in rows.of("dm_exec_connections")]
    hosts = (str(host).split("\\", 1)[0] for host in names if host)
    own = name.split("\\", 1)[0].casefold()
    found = {host.casefold(): host for host in hosts if host.casefold() not in (own, "<local>")}
    return tuple(found.values())


def _listeners(rows: Rows, endpoint: Endpoint) -> tuple[str, ...]:
    """Return the groups' listeners with the broker's port, as in routes (7.4)."""
    port = f":{endpoint.port}" if endpoint.port else ""
    rows_ = rows.of("availability_group_listeners")
    return tuple(dict.fromkeys(f"tcp://{row['dns_name']}{port}" for row in rows_))


def _mirrors(rows: Rows) -> dict[str, Mirror]:
    """Return each database's role in a mirrored pair or availability group."""
    names = {r["database_id"]: str(r["name"]) for r in rows.of("databases")}
    found: dict[str, Mirror] = {}
    for row in rows.of("database_mirroring"):
        database, role = names.get(row["database_id"]), row["mirroring_role"]
        if database is not None and role in _HADR_ROLES and row["mirroring_guid"] is not None:
            pair = str(row["mirroring_guid"])
            found[database.casefold()] = Mirror(pair, _HADR_ROLES[role])
    groups: Mapping[Any, str] = {r["group_id"]: r["name"] for r in rows.of("availability_groups")}
    roles = {
        r["group_id"]: r["role"]
        for r in rows.of("dm_hadr_availability_replica_states")
        if r["is_local"] is not False
    }
    for row in rows.of("availability_databases_cluster"):
        role = roles.get(row["group_id"])
        if role in _HADR_ROLES:
            group = groups.get(row["group_id"], str(row["group_id"]))
            found[str(row["database_name"]).casefold()] = Mirror(group, _HADR_ROLES[role])
    return found


def _grants(rows: Rows) -> tuple[Grant, ...]:
    endpoints = {r["endpoint_id"]: r["name"] for r in rows.of("service_broker_endpoints")}
    principals = {r["principal_id"]: r["name"] for r in rows.of("server_principals")}
    wanted = (r for r in rows.of("server_permissions") if r["permission_name"].upper() == "CONNECT")
    found = (_grant(row, endpoints, principals) for row in wanted)
    return tuple(g for g in found if g is not None)


def _grant(
    row: ViewRow, endpoints: Mapping[int, str], principals: Mapping[int, str]
) -> Grant | None:
    return grant(row, Securable.ENDPOINT, endpoints, principals)
