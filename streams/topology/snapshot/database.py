"""Build a database of the model from the rows of its catalog views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from streams.system_names import MSDB_SERVICES
from streams.topology.findings import Source
from streams.topology.model import MSDB, empty_database
from streams.topology.objects import (
    DEFAULT_LEVEL,
    Binding,
    Contract,
    Database,
    MessageType,
    Mirror,
    Priority,
    Queue,
    Route,
    Sender,
    Service,
    Validation,
    queue_name,
)
from streams.topology.security import Certificate, Grant, Securable
from streams.topology.snapshot.names import DEFAULT_SCHEMA, Names, names_of
from streams.topology.snapshot.rows import Rows, ViewRow
from streams.topology.system import SYSTEM_CONTRACTS, SYSTEM_MESSAGE_TYPES
from streams.topology.validate import Proposal, breach_finding, breaches

_BUILT_IN = "http://schemas.microsoft.com/SQL/"
_MSDB_OBJECTS = "//www.microsoft.com/databasemail/"
_VALIDATIONS = {
    "N": Validation.NONE, "E": Validation.EMPTY, "X": Validation.WELL_FORMED_XML
}  # fmt: skip


def build_database(
    rows: Rows, row: ViewRow | None, name: str, instance: str, mirror: Mirror | None
) -> Database:
    """Return a database; ``row`` is its row of sys.databases, if it has one."""
    reader = _Reader(rows, name, names_of(rows, name), f"{instance}/{name}")
    source = Source() if row is None else row.source
    blank = empty_database(instance, name, source)
    given: Mapping[str, Any] = {} if row is None else row.cells
    guid = given.get("service_broker_guid")
    return Database(
        name,
        blank.broker_id if guid is None else str(guid),
        given.get("is_broker_enabled") is not False,
        mirror,
        reader.message_types(),
        reader.contracts(),
        reader.queues(),
        reader.services(),
        reader.routes() if "routes" in rows.present else blank.routes,
        reader.priorities(),
        reader.bindings(),
        bool(given.get("is_honor_broker_priority_on")),
        certificates=reader.certificates(),
        grants=reader.grants(),
        master_key=given.get("is_master_key_encrypted_by_server"),
        source=source,
    )


@dataclass(slots=True)
class _Reader:
    rows: Rows
    name: str
    names: Names
    subject: str

    def _of(self, view: str) -> list[ViewRow]:
        return list(self.rows.in_database(view, self.name))

    def message_types(self) -> dict[str, MessageType]:
        collections = {r["xml_collection_id"]: r for r in self._of("xml_schema_collections")}
        found: dict[str, MessageType] = {}
        for row in self._of("service_message_types"):
            name = row["name"]
            if name in SYSTEM_MESSAGE_TYPES or built_in(name):
                continue
            validation = _VALIDATIONS.get((row["validation"] or "N").strip(), Validation.NONE)
            collection = collections.get(row["xml_collection_id"] or None)
            schema = None
            if row["xml_collection_id"]:
                validation = Validation.VALID_XML
                schema = None if collection is None else self._qualified(collection)
            found[name] = MessageType(name, validation, schema, row.source)
        return found

    def _qualified(self, row: ViewRow) -> str:
        return queue_name(self.names.schemas.get(row["schema_id"], DEFAULT_SCHEMA), row["name"])

    def contracts(self) -> dict[str, Contract]:
        messages: dict[int, dict[str, Sender]] = {}
        for row in self._of("service_contract_message_usages"):
            kind = self.names.types.get(row["message_type_id"])
            sender = _sender(row)
            if kind is not None and sender is not None:
                messages.setdefault(row["service_contract_id"], {})[kind] = sender
        return {
            row["name"]: Contract(
                row["name"], messages.get(row["service_contract_id"], {}), row.source
            )
            for row in self._of("service_contracts")
            if row["name"] not in SYSTEM_CONTRACTS and not built_in(row["name"])
        }

    def queues(self) -> dict[str, Queue]:
        used = {row["service_queue_id"] for row in self._of("services") if self._ours(row)}
        found: dict[str, Queue] = {}
        for row in self._of("service_queues"):
            name = self._qualified(row)
            shipped = name in _SHIPPED_QUEUES and row["object_id"] not in used
            if shipped:
                continue
            found[name] = Queue(
                name,
                row["is_receive_enabled"] is not False and row["is_enqueue_enabled"] is not False,
                bool(row["is_retention_enabled"]),
                row["is_poison_message_handling_enabled"] is not False,
                row["activation_procedure"],
                max_readers=(row["activation_procedure"] and row["max_readers"]) or 1,
                activation_status=not row["activation_procedure"]
                or bool(row["is_activation_enabled"]),
                source=row.source,
            )
        return found

    def services(self) -> dict[str, Service]:
        accepted: dict[int, list[str]] = {}
        for row in self._of("service_contract_usages"):
            contract = self.names.contract(row["service_contract_id"])
            if contract is not None:
                accepted.setdefault(row["service_id"], []).append(contract)
        return {
            row["name"]: Service(
                row["name"],
                self.names.queues.get(row["service_queue_id"], row["name"]),
                tuple(accepted.get(row["service_id"], ())),
                self.names.principals.get(row["principal_id"]),
                row.source,
            )
            for row in self._of("services")
            if self._ours(row)
        }

    def _ours(self, row: ViewRow) -> bool:
        shipped = self.name.casefold() == MSDB and row["name"] in MSDB_SERVICES
        return not shipped and not built_in(row["name"])

    def routes(self) -> tuple[Route, ...]:
        found = [
            Route(
                row["name"], row["remote_service_name"], row["broker_instance"], row["address"],
                row["mirror_address"], row["lifetime"], row["route_id"] or number, row.source,
            )
            for number, row in enumerate(self._of("routes"), 1)
        ]  # fmt: skip
        for route in found:
            for breach in breaches(Proposal(route)):
                finding = breach_finding(breach, route.name, self.subject, route.source)
                self.rows.findings.append(finding)
        return tuple(sorted(found, key=lambda route: route.route_id))

    def priorities(self) -> tuple[Priority, ...]:
        return tuple(
            Priority(
                row["name"], self.names.contract(row["service_contract_id"]),
                self.names.service(row["local_service_id"]), row["remote_service_name"],
                row["priority"] or DEFAULT_LEVEL, row.source,
            )
            for row in self._of("conversation_priorities")
        )  # fmt: skip

    def bindings(self) -> tuple[Binding, ...]:
        return tuple(
            Binding(
                row["name"], row["remote_service_name"],
                self.names.principals.get(row["remote_principal_id"], ""),
                bool(row["is_anonymous_on"]), row.source,
            )
            for row in self._of("remote_service_bindings")
        )  # fmt: skip

    def certificates(self) -> dict[str, Certificate]:
        return {
            row["name"]: Certificate(
                row["name"], row["start_date"], row["expiry_date"], row["subject"],
                self.names.principals.get(row["principal_id"]),
                active=row["is_active_for_begin_dialog"] is not False, source=row.source,
            )
            for row in self._of("certificates")
            if not row["name"].startswith("##MS_")
        }  # fmt: skip

    def grants(self) -> tuple[Grant, ...]:
        found = (
            grant(row, Securable.SERVICE, self.names.services, self.names.principals)
            for row in self._of("database_permissions")
            if row["permission_name"].upper() in ("SEND", "CONTROL")
        )
        return tuple(g for g in found if g is not None and not built_in(g.name))


def grant(
    row: ViewRow, securable: Securable, objects: Mapping[int, str], principals: Mapping[int, str]
) -> Grant | None:
    """Return the grant in a row of a permissions view; ``None`` if its object has no name."""
    name = objects.get(row["major_id"])
    principal = principals.get(row["grantee_principal_id"])
    if name is None or principal is None:
        return None
    denied = (row["state"] or "G").strip().upper() == "D"
    return Grant(row["permission_name"].upper(), securable, name, principal, denied, row.source)


def built_in(name: str) -> bool:
    """Return whether the server has an object by default; the model has it or does not need it."""
    return name.startswith((_BUILT_IN, _MSDB_OBJECTS))


_SHIPPED_QUEUES = frozenset(
    {
        "QueryNotificationErrorsQueue",
        "EventNotificationErrorsQueue",
        "ServiceBrokerQueue",
        "ExternalMailQueue",
        "InternalMailQueue",
        "syspolicy_event_queue",
    }
)


def _sender(row: ViewRow) -> Sender | None:
    match bool(row["is_sent_by_initiator"]), bool(row["is_sent_by_target"]):
        case True, True:
            return Sender.ANY
        case True, False:
            return Sender.INITIATOR
        case False, True:
            return Sender.TARGET
        case _:
            return None
