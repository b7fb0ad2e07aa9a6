"""Write a topology as ``topology.yaml``, without default values.

Reading the file gives the same topology, except for details that the file cannot express: the
places where procedures end conversations, the epochs of a live system, and gaps between the ids of
routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from streams.routing import AUTO_CREATED_LOCAL
from streams.system_names import DEFAULT
from streams.topology.model import (
    MSDB,
    Cluster,
    Endpoint,
    EndpointState,
    Expectation,
    Instance,
    Topology,
    Transport,
    default_broker_id,
)
from streams.topology.objects import DEFAULT_LEVEL, Database, Priority, Queue, Route, Service
from streams.topology.yaml_file.database import default_queue
from streams.topology.yaml_file.write_agents import agent
from streams.topology.yaml_file.write_security import (
    certificates,
    endpoint_security,
    grants,
    instant,
    procedures,
)

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_WIDTH = 1000
Scripts = Mapping[str, tuple[str, ...]]
"""The .sql files of each instance, in order."""


def write_document(topology: Topology, scripts: Scripts | None = None) -> str:
    """Return the text of the file; it lists ``scripts`` and contains the rest of the topology."""
    named = scripts or {}
    instances = {
        name: _given({"sql": list(named.get(name, ())), **_instance(i)})
        for name, i in topology.instances.items()
    }
    document = {
        "instances": instances,
        "clusters": {name: _cluster(c) for name, c in topology.clusters.items()},
        "agents": {name: agent(a) for name, a in topology.agents.items()},
        "expect": [_expectation(e) for e in topology.expect],
    }
    return str(
        yaml.dump(
            _given(document), Dumper=_Dumper, default_flow_style=None, sort_keys=False,
            allow_unicode=True, width=_WIDTH,
        )
    )  # fmt: skip


def _cluster(cluster: Cluster) -> dict[str, Any]:
    own = {"prefix": cluster.prefix, "credentials": cluster.credentials}
    return {**cluster.properties, **_given(own), **_claims(cluster)}


def _claims(cluster: Cluster) -> dict[str, Any]:
    """Return the senders that a cluster may name; keep an empty list, which allows none."""
    if cluster.claims is None:
        return {}
    stated = {"services": cluster.claims.services, "broker_ids": cluster.claims.broker_ids}
    return {"claims": {key: list(names) for key, names in stated.items() if names is not None}}


def _instance(instance: Instance) -> dict[str, Any]:
    databases = {name: _database(d, instance.name) for name, d in instance.databases.items()}
    return _given(
        {
            "address": instance.stated_address,
            "aliases": list(instance.aliases),
            "listeners": list(instance.listeners),
            "endpoint": _endpoint(instance.endpoint),
            "grants": grants(instance.grants),
            "cluster": instance.cluster,
            "partitions": _unless(instance.partitions, 1),
            "databases": databases,
            MSDB: _database(instance.msdb, instance.name),
        }
    )


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given values, which are neither None nor empty."""
    return {key: value for key, value in values.items() if value not in (None, [], {})}


def _unless(value: Any, default: Any) -> Any:
    return None if value == default else value


def _endpoint(e: Endpoint) -> dict[str, Any]:
    return _given(
        {
            "name": e.name,
            "state": _unless(e.state.value, EndpointState.STARTED.value),
            "port": e.port,
            "forwarding": e.forwarding or None,
            "forward_size_mb": _unless(e.forward_size_mb, Endpoint().forward_size_mb),
            "transport": _unless(e.transport.value, Transport.FAILOVER.value),
            "hide_path": e.hide_path or None,
            **endpoint_security(e),
        }
    )


def _expectation(e: Expectation) -> dict[str, Any]:
    given = {"from": e.sender, "to": e.to, "verdict": e.verdict, "broker": e.broker}
    at = {} if e.at is None else {"at": list(e.at)}
    return {**_given(given), **at}


def _database(d: Database, instance: str) -> dict[str, Any]:
    return _given(
        {
            "broker_id": _unless(d.broker_id, default_broker_id(instance, d.name)),
            "mirror": d.mirror and {"pair": d.mirror.pair, "role": d.mirror.role.value},
            "broker": None if d.enabled else "disabled",
            "honor_broker_priority": d.honor_priority or None,
            "read_only": d.read_only or None,
            "single_user": d.single_user or None,
            "schemas": dict(d.schemas),
            "message_types": {
                t.name: _given({"validation": t.validation.value, "schema": t.schema})
                for t in d.message_types.values()
            },
            "contracts": {
                c.name: {name: sender.value for name, sender in c.messages.items()}
                for c in d.contracts.values()
            },
            "queues": {q.name: _queue(q) for q in d.queues.values()},
            "services": {s.name: _service(s) for s in d.services.values()},
            **_routes(d.routes),
            "priorities": [_priority(p) for p in d.priorities],
            "bindings": [
                {"name": b.name, "to_service": b.service, "user": b.user, "anonymous": b.anonymous}
                for b in d.bindings
            ],
            "certificates": certificates(d.certificates),
            "grants": grants(d.grants),
            "procedures": procedures(d.procedures),
            "master_key": d.master_key,
        }
    )


def _queue(q: Queue) -> dict[str, Any]:
    switches = {
        "status": _unless(q.status, True),
        "retention": _unless(q.retention, False),
        "poison_message_handling": _unless(q.poison_message_handling, True),
        "activation_status": _unless(q.activation_status, True),
    }
    rest = {
        "activation": q.activation,
        "max_readers": _unless(q.max_readers, 1),
        "group": q.group,
        "partitions": _unless(q.partitions, 1),
    }
    return _given({**switches, **rest})


def _service(s: Service) -> dict[str, Any]:
    queue = {} if s.queue == default_queue(s.name) else {"queue": s.queue}
    # A missing list means DEFAULT; an empty list means that the service can only initiate.
    contracts = {} if s.contracts == (DEFAULT,) else {"contracts": list(s.contracts)}
    owner = {} if s.owner is None else {"owner": s.owner}
    return {**queue, **contracts, **owner}


def _priority(p: Priority) -> dict[str, Any]:
    return _given(
        {
            "name": p.name,
            "contract": p.contract,
            "local_service_name": p.local_service,
            "remote_service_name": p.remote_service,
            "level": _unless(p.level, DEFAULT_LEVEL),
        }
    )


def _routes(routes: tuple[Route, ...]) -> dict[str, Any]:
    """Return the routes, without AutoCreatedLocal if it is unchanged."""
    if _is_created(routes):
        return {"routes": [_route(r) for r in routes[1:]]}
    return {"auto_created_local": False, "routes": [_route(r) for r in routes]}


def _is_created(routes: tuple[Route, ...]) -> bool:
    """Return whether the first route, and no other, is AutoCreatedLocal as in a new database."""
    named = [r for r in routes if r.name.casefold() == AUTO_CREATED_LOCAL.casefold()]
    created = Route(AUTO_CREATED_LOCAL, None, None, "LOCAL", route_id=1)
    return len(named) == 1 and routes[0] == created


def _route(r: Route) -> dict[str, Any]:
    given = {
        "name": r.name,
        "service_name": r.service,
        "broker_instance": r.broker,
        "address": r.address,
        "mirror_address": r.mirror,
        "expires": None if r.expires is None else instant(r.expires),
    }
    return {key: value for key, value in given.items() if value is not None}
