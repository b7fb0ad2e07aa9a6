"""The databases of ``topology.yaml``: objects, routes, rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from streams.routing import AUTO_CREATED_LOCAL
from streams.system_names import DEFAULT
from streams.topology.findings import Finding, Source
from streams.topology.model import MSDB, default_broker_id
from streams.topology.objects import (
    DEFAULT_LEVEL,
    Binding,
    Contract,
    Database,
    MessageType,
    Mirror,
    Priority,
    Queue,
    Role,
    Route,
    Sender,
    Service,
    Validation,
    is_group,
)
from streams.topology.security import Securable
from streams.topology.validate import LIFETIME_MAX, Proposal, breach_finding, breaches
from streams.topology.yaml_file.nodes import Node, optional
from streams.topology.yaml_file.procedures import read_procedures
from streams.topology.yaml_file.security import read_certificates, read_grants

ReadFile = Callable[[str, Source], str]
"""Returns the text of a file that a topology names, given the name and its source position."""
DATABASE_KEYS = (
    "broker_id", "broker", "auto_created_local", "mirror", "message_types", "contracts", "queues",
    "services", "routes", "priorities", "bindings", "honor_broker_priority", "schemas",
    "certificates", "grants", "procedures", "master_key", "read_only", "single_user",
)  # fmt: skip
ROUTE_KEYS = (
    "name", "service_name", "broker_instance", "address", "mirror_address", "lifetime", "expires",
)  # fmt: skip


def read_database(
    node: Node, instance: str, name: str, now: float, findings: list[Finding], read: ReadFile
) -> Database:
    """Read a database, including ``msdb``; routes that break a rule are kept and reported (C-06).

    ``read`` reads the files of schemas that are not inline.
    """
    given = node.fields("msdb" if name == MSDB else "a database", DATABASE_KEYS)
    database = Database(name, default_broker_id(instance, name), source=node.source)
    if "broker_id" in given:
        database = replace(database, broker_id=_some(given["broker_id"], "a broker id"))
    if "broker" in given:
        database = replace(database, enabled=given["broker"].switch("broker: enabled or disabled"))
    if "mirror" in given and not given["mirror"].is_null:
        database = replace(database, mirror=_mirror(given["mirror"]))
    local = "auto_created_local" not in given or given["auto_created_local"].switch(
        "auto_created_local"
    )
    routes = _routes(given["routes"], now, 2) if "routes" in given else ()
    _check(routes, f"{instance}/{name}", findings)
    created = Route(AUTO_CREATED_LOCAL, None, None, "LOCAL", route_id=1, source=node.source)
    # An explicit route replaces the automatically created one.
    stated = any(r.name.casefold() == AUTO_CREATED_LOCAL.casefold() for r, _ in routes)
    own = (created,) if local and not stated else ()
    return replace(
        database,
        routes=own + tuple(route for route, _ in routes),
        message_types=_message_types(given),
        contracts=_contracts(given),
        queues=_queues(given),
        services=_services(given),
        priorities=_priorities(given),
        bindings=_bindings(given),
        honor_priority="honor_broker_priority" in given
        and given["honor_broker_priority"].switch("honor_broker_priority"),
        schemas=_schemas(given, read),
        certificates=read_certificates(given["certificates"]) if "certificates" in given else {},
        grants=read_grants(given["grants"], Securable.SERVICE) if "grants" in given else (),
        procedures=read_procedures(given["procedures"]) if "procedures" in given else {},
        master_key=given["master_key"].switch("master_key") if "master_key" in given else None,
        read_only="read_only" in given and given["read_only"].switch("read_only"),
        single_user="single_user" in given and given["single_user"].switch("single_user"),
    )


def _some(node: Node, what: str) -> str:
    text = node.text(what)
    return text if text else node.fail(what)


def _mirror(node: Node) -> Mirror:
    given = node.fields("mirror", ("pair", "role"))
    if "pair" not in given:
        node.fail("mirror: {pair: NAME, role: principal | mirror}")
    role = given["role"].choice("role", Role) if "role" in given else Role.PRINCIPAL
    return Mirror(_some(given["pair"], "the pair's name"), role)


# --- Routes --------------------------------------------------------------------------------------


def _routes(node: Node, now: float, first_id: int) -> tuple[tuple[Route, int | None], ...]:
    """Return each route with its LIFETIME."""
    items = enumerate(node.items("routes"), first_id)
    return tuple(_route(item, now, route_id) for route_id, item in items)


def _route(node: Node, now: float, route_id: int) -> tuple[Route, int | None]:
    given = node.fields("a route", ROUTE_KEYS)
    for key in ("name", "address"):
        if key not in given or given[key].is_null:
            near = "" if given else "Write {name: ..., address: 'tcp://host:4022'}."
            raise node.error(f"a route without {key}", near or f"Add {key}: to it.")
    lifetime, expires = None, None
    if "lifetime" in given and not given["lifetime"].is_null:
        lifetime = given["lifetime"].integer("lifetime in seconds", -(2**63), 2**63)
        expires = now + lifetime if 1 <= lifetime <= LIFETIME_MAX else None
    if "expires" in given and not given["expires"].is_null:
        if lifetime is not None:
            raise given["expires"].error(
                "a route with lifetime and expires", "Give one: lifetime counts from now."
            )
        expires = given["expires"].instant("expires")
    route = Route(
        _some(given["name"], "the route's name"),
        optional(given, "service_name"),
        optional(given, "broker_instance"),
        given["address"].text("address"),
        optional(given, "mirror_address"),
        expires, route_id, node.source,
    )  # fmt: skip
    return route, lifetime


def _check(
    routes: tuple[tuple[Route, int | None], ...], subject: str, findings: list[Finding]
) -> None:
    seen: set[str] = set()
    for route, lifetime in routes:
        key = route.name.casefold()
        for breach in breaches(Proposal(route, lifetime, taken=key in seen)):
            findings.append(breach_finding(breach, route.name, subject, route.source))
        seen.add(key)


# --- Message types, contracts, queues, services --------------------------------------------------


def _message_types(given: Mapping[str, Node]) -> dict[str, MessageType]:
    found: dict[str, MessageType] = {}
    if "message_types" not in given:
        return found
    for name, (key, node) in given["message_types"].mapping("message types").items():
        settings = node.fields("a message type", ("validation", "schema"))
        validation = Validation.NONE
        if "validation" in settings:
            validation = settings["validation"].choice("validation", Validation)
        found[name] = MessageType(name, validation, optional(settings, "schema"), key.source)
    return found


def _schemas(given: Mapping[str, Node], read: ReadFile) -> dict[str, str]:
    if "schemas" not in given:
        return {}
    rows = given["schemas"].named("schemas").items()
    return {name: _schema(node, read) for name, (_, node) in rows}


def _schema(node: Node, read: ReadFile) -> str:
    text = _some(node, "a schema, or the name of its file")
    return text if text.lstrip().startswith("<") else read(text, node.source)


def _contracts(given: Mapping[str, Node]) -> dict[str, Contract]:
    found: dict[str, Contract] = {}
    if "contracts" not in given:
        return found
    for name, (key, node) in given["contracts"].mapping("contracts").items():
        rows = node.mapping("message types").items()
        messages = {word: value.choice("sent by", Sender) for word, (_, value) in rows}
        found[name] = Contract(name, messages, key.source)
    return found


def _queues(given: Mapping[str, Node]) -> dict[str, Queue]:
    found: dict[str, Queue] = {}
    if "queues" not in given:
        return found
    keys = (
        "status", "retention", "poison_message_handling", "activation", "activation_status",
        "group", "max_readers", "partitions",
    )  # fmt: skip
    for name, (key, node) in given["queues"].named("queues").items():
        s = node.fields("a queue", keys)
        found[name] = Queue(
            name,
            "status" not in s or s["status"].switch("status"),
            "retention" in s and s["retention"].switch("retention"),
            "poison_message_handling" not in s
            or s["poison_message_handling"].switch("poison_message_handling"),
            optional(s, "activation"),
            _group(s["group"]) if "group" in s else None,
            s["max_readers"].integer("max_readers", 0, 32_767) if "max_readers" in s else 1,
            "activation_status" not in s or s["activation_status"].switch("activation_status"),
            s["partitions"].integer("partitions", 1, 1000) if "partitions" in s else 1,
            key.source,
        )
    return found


def _group(node: Node) -> str | None:
    name = node.maybe_text("group")
    if name is not None and not is_group(name):
        node.fail(
            "the name of a consumer group",
            "Use 1 to 255 characters without control characters and without spaces at the ends. "
            "Do not use '*', which means every group.",
        )
    return name


def _services(given: Mapping[str, Node]) -> dict[str, Service]:
    if "services" not in given:
        return {}
    node = given["services"]
    if node.is_list:
        names = [(_some(item, "a service's name"), item) for item in node.items("services")]
        return {n: Service(n, default_queue(n), (DEFAULT,), source=i.source) for n, i in names}
    rows = node.mapping("services").items()
    return {name: _service(name, key, value) for name, (key, value) in rows}


def default_queue(service: str) -> str:
    """Return the default queue of a service."""
    return service + "Queue"


def _service(name: str, key: Node, node: Node) -> Service:
    given = node.fields("a service", ("queue", "contracts", "owner"))
    queue = _some(given["queue"], "queue") if "queue" in given else default_queue(name)
    # A missing list means DEFAULT; an empty list means that the service can only initiate.
    contracts = given["contracts"].texts("contracts") if "contracts" in given else (DEFAULT,)
    return Service(name, queue, contracts, optional(given, "owner"), key.source)


# --- Rules ---------------------------------------------------------------------------------------


def _priorities(given: Mapping[str, Node]) -> tuple[Priority, ...]:
    if "priorities" not in given:
        return ()
    found: dict[str, Priority] = {}
    for node in given["priorities"].items("priorities"):
        priority = _priority(node)
        if found.setdefault(priority.name.casefold(), priority) is not priority:
            raise node.error(f"priority {priority.name} twice", "Give one of them another name.")
    return tuple(found.values())


def _priority(node: Node) -> Priority:
    keys = ("name", "contract", "local_service_name", "remote_service_name", "level")
    given = node.fields("a priority", keys)
    if "name" not in given:
        raise node.error("a priority without a name", "Add name: to it.")
    level = given["level"].integer("level", 1, 10) if "level" in given else DEFAULT_LEVEL
    contract, local, remote = (optional(given, key) for key in keys[1:4])
    return Priority(
        _some(given["name"], "name"), contract, local, remote, level, source=node.source
    )


def _bindings(given: Mapping[str, Node]) -> tuple[Binding, ...]:
    if "bindings" not in given:
        return ()
    return tuple(_binding(node) for node in given["bindings"].items("bindings"))


def _binding(node: Node) -> Binding:
    given = node.fields("a binding", ("name", "to_service", "user", "anonymous"))
    for key in ("name", "to_service", "user"):
        if key not in given:
            raise node.error(f"a binding without {key}", f"Add {key}: to it.")
    anonymous = "anonymous" in given and given["anonymous"].switch("anonymous")
    name, service, user = (_some(given[k], k) for k in ("name", "to_service", "user"))
    return Binding(name, service, user, anonymous, node.source)
