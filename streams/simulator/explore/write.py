"""Write a topology as ``topology.yaml``, which :func:`streams.topology.load` reads.

Bindings, schemas and clusters are not written, because explored topologies have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from streams.routing import AUTO_CREATED_LOCAL
from streams.simulator.explore.case import Case
from streams.simulator.write import flow, scenario_text
from streams.topology import FILE, Database, Endpoint, Instance, Route, Topology

_DEEP = 5
"""Down to this depth (instances, NAME, databases, NAME, KEY), each entry is on a separate line."""


def write_case(case: Case, folder: Path, comment: str) -> Path:
    """Write a case as a folder with a topology and ``scenario.yaml``; return the latter's path."""
    folder.mkdir(parents=True, exist_ok=True)
    topology = folder / FILE
    topology.write_text(topology_text(case.topology), encoding="utf-8", newline="\n")
    scenario = folder / "scenario.yaml"
    text = scenario_text(case.scenario, comment)
    scenario.write_text(text, encoding="utf-8", newline="\n")
    return scenario


def topology_text(topology: Topology) -> str:
    """Return the text of ``topology.yaml``."""
    rows = {name: _instance(instance) for name, instance in topology.instances.items()}
    return "\n".join(_lines({"instances": rows}, 0)) + "\n"


def _lines(made: Mapping[str, Any], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, value in made.items():
        if isinstance(value, Mapping) and value and depth + 1 < _DEEP:
            yield f"{indent}{flow(key)}:"
            yield from _lines(value, depth + 1)
        elif isinstance(value, list) and value:
            yield f"{indent}{flow(key)}:"
            yield from (f"{indent}  - {flow(item)}" for item in value)
        else:
            yield f"{indent}{flow(key)}: {flow(value)}"


def _instance(instance: Instance) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if instance.stated_address is not None:
        made["address"] = instance.stated_address
    if instance.listeners:
        made["listeners"] = list(instance.listeners)
    endpoint = _endpoint(instance.endpoint)
    if endpoint:
        made["endpoint"] = endpoint
    made["databases"] = {name: _database(d) for name, d in instance.databases.items()}
    made["msdb"] = {"routes": _routes(instance.msdb)}
    return made


def _endpoint(endpoint: Endpoint) -> dict[str, Any]:
    usual, made = Endpoint(), dict[str, Any]()
    if endpoint.forwarding:
        made["forwarding"] = True
    if endpoint.transport is not usual.transport:
        made["transport"] = endpoint.transport.value
    return made


def _database(database: Database) -> dict[str, Any]:
    mirror = database.mirror
    made: dict[str, Any] = {
        "broker_id": database.broker_id,
        "mirror": {"pair": mirror.pair, "role": mirror.role.value} if mirror is not None else None,
        "message_types": {
            name: {"validation": kind.validation.value}
            for name, kind in database.message_types.items()
        },
        "contracts": {
            name: {kind: sender.value for kind, sender in contract.messages.items()}
            for name, contract in database.contracts.items()
        },
        "queues": {name: {} for name in database.queues},
        "services": {
            name: {"queue": service.queue, "contracts": list(service.contracts)}
            for name, service in database.services.items()
        },
        "priorities": [
            {
                "name": rule.name,
                "contract": rule.contract,
                "local_service_name": rule.local_service,
                "remote_service_name": rule.remote_service,
                "level": rule.level,
            }
            for rule in database.priorities
        ],
        "routes": _routes(database),
    }
    return {key: value for key, value in made.items() if value}


def _routes(database: Database) -> list[dict[str, Any]]:
    return [_route(route) for route in database.routes if route.name != AUTO_CREATED_LOCAL]


def _route(route: Route) -> dict[str, Any]:
    made = {
        "name": route.name,
        "service_name": route.service,
        "broker_instance": route.broker,
        "address": route.address,
        "mirror_address": route.mirror,
    }
    return {key: value for key, value in made.items() if value is not None}
