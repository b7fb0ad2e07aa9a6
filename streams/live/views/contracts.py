"""The views of message types, contracts, priorities and bindings, from the catalog.

As in :mod:`streams.live.views.catalog`, ids are ``None`` and additional columns contain the names.
Objects that every database has, such as the contract DEFAULT, are not shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams.live.views.places import Asked, Row, View, words
from streams.topology import Database, Instance, Sender, Validation

_VALIDATIONS = {
    Validation.NONE: ("N", "NONE"),
    Validation.EMPTY: ("E", "EMPTY"),
    Validation.WELL_FORMED_XML: ("X", "XML"),
    Validation.VALID_XML: ("X", "XML"),
}
_ALL_CONTRACTS = 0
"""The id that stands for every contract of a binding's service."""


def _placed(instance: Instance, database: Database, **values: Any) -> Row:
    return {"instance": instance.name, "database": database.name, **values}


def _message_types(asked: Asked) -> Iterator[Row]:
    for instance, database in asked.databases():
        for found in database.message_types.values():
            validation, described = _VALIDATIONS[found.validation]
            yield _placed(
                instance, database,
                name=found.name, message_type_id=None, principal_id=None,
                validation=validation, validation_desc=described,
                xml_collection_id=None, xml_collection_name=found.schema,
            )  # fmt: skip


def _contracts(asked: Asked) -> Iterator[Row]:
    for instance, database in asked.databases():
        for name in database.contracts:
            yield _placed(
                instance, database, name=name, service_contract_id=None, principal_id=None
            )


def _message_usages(asked: Asked) -> Iterator[Row]:
    for instance, database in asked.databases():
        for contract in database.contracts.values():
            for name, sender in contract.messages.items():
                yield _placed(
                    instance, database,
                    service_contract_id=None, message_type_id=None,
                    is_sent_by_initiator=sender is not Sender.TARGET,
                    is_sent_by_target=sender is not Sender.INITIATOR,
                    contract_name=contract.name, message_type_name=name,
                )  # fmt: skip


def _contract_usages(asked: Asked) -> Iterator[Row]:
    for instance, database in asked.databases():
        for service in database.services.values():
            for contract in service.contracts:
                yield _placed(
                    instance, database,
                    service_id=None, service_contract_id=None,
                    service_name=service.name, contract_name=contract,
                )  # fmt: skip


def _queue_usages(asked: Asked) -> Iterator[Row]:
    for instance, database in asked.databases():
        for service in database.services.values():
            yield _placed(
                instance, database,
                service_id=None, service_queue_id=None,
                service_name=service.name, queue_name=service.queue,
            )  # fmt: skip


def _priorities(asked: Asked) -> Iterator[Row]:
    for instance, database in asked.databases():
        for found in database.priorities:
            yield _placed(
                instance, database,
                priority_id=None, name=found.name, service_contract_id=None,
                local_service_id=None, remote_service_name=found.remote_service,
                priority=found.level,
                contract_name=found.contract, local_service_name=found.local_service,
            )  # fmt: skip


def _bindings(asked: Asked) -> Iterator[Row]:
    for instance, database in asked.databases():
        for found in database.bindings:
            yield _placed(
                instance, database,
                name=found.name, remote_service_binding_id=None, principal_id=None,
                remote_service_name=found.service, service_contract_id=_ALL_CONTRACTS,
                remote_principal_id=None, is_anonymous_on=found.anonymous,
                remote_principal_name=found.user,
            )  # fmt: skip


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
        _message_types,
    ),
    "sys.service_contracts": View(
        words("instance database name service_contract_id principal_id"),
        words("name"),
        _contracts,
    ),
    "sys.service_contract_message_usages": View(
        words(
            """instance database service_contract_id message_type_id is_sent_by_initiator
            is_sent_by_target contract_name message_type_name"""
        ),
        words("contract_name message_type_name is_sent_by_initiator is_sent_by_target"),
        _message_usages,
    ),
    "sys.service_contract_usages": View(
        words("instance database service_id service_contract_id service_name contract_name"),
        words("service_name contract_name"),
        _contract_usages,
    ),
    "sys.service_queue_usages": View(
        words("instance database service_id service_queue_id service_name queue_name"),
        words("service_name queue_name"),
        _queue_usages,
    ),
    "sys.conversation_priorities": View(
        words(
            """instance database priority_id name service_contract_id local_service_id
            remote_service_name priority contract_name local_service_name"""
        ),
        words("name priority contract_name local_service_name remote_service_name"),
        _priorities,
    ),
    "sys.remote_service_bindings": View(
        words(
            """instance database name remote_service_binding_id principal_id remote_service_name
            service_contract_id remote_principal_id is_anonymous_on remote_principal_name"""
        ),
        words("name remote_service_name remote_principal_name is_anonymous_on"),
        _bindings,
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
