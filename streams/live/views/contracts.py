"""The views of message types, contracts, priorities and bindings, from the catalog.

As in :mod:`streams.live.views.catalog`, ids are derived from names, and additional columns contain
the names.
Objects that every database has, such as the contract DEFAULT, are not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streams.live.views.places import Asked, Row, View, words
from streams.node.object_ids import object_id, queue_id
from streams.topology import Database, Sender, Validation

_VALIDATIONS = {
    Validation.NONE: ("N", "NONE"),
    Validation.EMPTY: ("E", "EMPTY"),
    Validation.WELL_FORMED_XML: ("X", "XML"),
    Validation.VALID_XML: ("X", "XML"),
}
_ALL_CONTRACTS = 0
"""The id that stands for every contract of a binding's service."""


def _in_each(rows: Callable[[Database], Iterator[Row]]) -> Callable[[Asked], Iterator[Row]]:
    """Return a view of the rows of each database, with its place."""

    def placed(asked: Asked) -> Iterator[Row]:
        for instance, database in asked.databases():
            for row in rows(database):
                yield {"instance": instance.name, "database": database.name, **row}

    return placed


def _message_types(database: Database) -> Iterator[Row]:
    for found in database.message_types.values():
        validation, described = _VALIDATIONS[found.validation]
        yield {
            "name": found.name,
            "message_type_id": object_id(found.name),
            "principal_id": None,
            "validation": validation,
            "validation_desc": described,
            "xml_collection_id": object_id(found.schema),
            "xml_collection_name": found.schema,
        }


def _contracts(database: Database) -> Iterator[Row]:
    for name in database.contracts:
        yield {"name": name, "service_contract_id": object_id(name), "principal_id": None}


def _message_usages(database: Database) -> Iterator[Row]:
    for contract in database.contracts.values():
        for name, sender in contract.messages.items():
            yield {
                "service_contract_id": object_id(contract.name),
                "message_type_id": object_id(name),
                "is_sent_by_initiator": sender is not Sender.TARGET,
                "is_sent_by_target": sender is not Sender.INITIATOR,
                "contract_name": contract.name,
                "message_type_name": name,
            }


def _contract_usages(database: Database) -> Iterator[Row]:
    for service in database.services.values():
        for contract in service.contracts:
            yield {
                "service_id": object_id(service.name),
                "service_contract_id": object_id(contract),
                "service_name": service.name,
                "contract_name": contract,
            }


def _queue_usages(database: Database) -> Iterator[Row]:
    for service in database.services.values():
        yield {
            "service_id": object_id(service.name),
            "service_queue_id": queue_id(service.queue),
            "service_name": service.name,
            "queue_name": service.queue,
        }


def _priorities(database: Database) -> Iterator[Row]:
    for found in database.priorities:
        yield {
            "priority_id": object_id(found.name),
            "name": found.name,
            "service_contract_id": object_id(found.contract),
            "local_service_id": object_id(found.local_service),
            "remote_service_name": found.remote_service,
            "priority": found.level,
            "contract_name": found.contract,
            "local_service_name": found.local_service,
        }


def _bindings(database: Database) -> Iterator[Row]:
    for found in database.bindings:
        yield {
            "name": found.name,
            "remote_service_binding_id": object_id(found.name),
            "principal_id": None,
            "remote_service_name": found.service,
            "service_contract_id": _ALL_CONTRACTS,
            "remote_principal_id": None,
            "is_anonymous_on": found.anonymous,
            "remote_principal_name": found.user,
        }


def _databases(asked: Asked) -> Iterator[Row]:
    for instance, database in asked.databases():
        yield {
            "instance": instance.name,
            "name": database.name,
            "database_id": None,
            "service_broker_guid": database.broker_id,
            "is_broker_enabled": database.enabled,
            "is_honor_broker_priority_on": database.honor_priority,
        }


CONTRACT_VIEWS = {
    "sys.service_message_types": View(
        words(
            """instance database name message_type_id principal_id validation validation_desc
            xml_collection_id xml_collection_name"""
        ),
        words("name validation_desc xml_collection_name"),
        _in_each(_message_types),
    ),
    "sys.service_contracts": View(
        words("instance database name service_contract_id principal_id"),
        words("name"),
        _in_each(_contracts),
    ),
    "sys.service_contract_message_usages": View(
        words(
            """instance database service_contract_id message_type_id is_sent_by_initiator
            is_sent_by_target contract_name message_type_name"""
        ),
        words("contract_name message_type_name is_sent_by_initiator is_sent_by_target"),
        _in_each(_message_usages),
    ),
    "sys.service_contract_usages": View(
        words("instance database service_id service_contract_id service_name contract_name"),
        words("service_name contract_name"),
        _in_each(_contract_usages),
    ),
    "sys.service_queue_usages": View(
        words("instance database service_id service_queue_id service_name queue_name"),
        words("service_name queue_name"),
        _in_each(_queue_usages),
    ),
    "sys.conversation_priorities": View(
        words(
            """instance database priority_id name service_contract_id local_service_id
            remote_service_name priority contract_name local_service_name"""
        ),
        words("name priority contract_name local_service_name remote_service_name"),
        _in_each(_priorities),
    ),
    "sys.remote_service_bindings": View(
        words(
            """instance database name remote_service_binding_id principal_id remote_service_name
            service_contract_id remote_principal_id is_anonymous_on remote_principal_name"""
        ),
        words("name remote_service_name remote_principal_name is_anonymous_on"),
        _in_each(_bindings),
    ),
    "sys.databases": View(
        words(
            """instance name database_id service_broker_guid is_broker_enabled
            is_honor_broker_priority_on"""
        ),
        words("name service_broker_guid is_broker_enabled is_honor_broker_priority_on"),
        _databases,
        databases=False,
    ),
}
"""The views by name."""
