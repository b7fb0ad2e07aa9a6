"""The top level of ``topology.yaml``: instances, clusters, agents and expectations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.errors import InputError
from streams.routing import AddressKind, parse_address
from streams.settings import PREFIX_RULE, is_prefix
from streams.topology.agents import Agent
from streams.topology.findings import Finding, Source
from streams.topology.model import (
    MSDB,
    Claims,
    Cluster,
    Endpoint,
    EndpointState,
    Expectation,
    Instance,
    Transport,
    empty_database,
)
from streams.topology.security import Securable
from streams.topology.tsql import Reading
from streams.topology.yaml_file.agents import read_agents
from streams.topology.yaml_file.database import ReadFile, read_database
from streams.topology.yaml_file.nodes import Node, optional, parse_yaml
from streams.topology.yaml_file.security import (
    ENDPOINT_SECURITY_KEYS,
    read_encryption,
    read_grants,
    read_words,
)

TOPOLOGY_KEYS = ("instances", "clusters", "agents", "expect")
INSTANCE_KEYS = (
    "address", "aliases", "listeners", "endpoint", "cluster", "partitions", "sql", "scripts",
    "snapshot", "databases", "msdb", "grants",
)  # fmt: skip
SCRIPT_KEYS = ("file", "database", "variables")
CLUSTER_KEYS = ("prefix", "credentials")
"""Text keys of a cluster besides librdkafka's properties; ``claims`` contains lists."""
_VERDICTS = ("ok", "hazard", "broken")


@dataclass(frozen=True, slots=True)
class ScriptName:
    """A .sql file of an instance, with its place.

    ``database``: where the script begins. ``variables``: the initial sqlcmd variables.
    """

    name: str
    source: Source
    database: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """The content of the file. ``scripts``: the scripts to apply to each instance, in order.

    ``readings``: how an instance's scripts are read. ``snapshots``: the snapshots that
    come before the scripts.
    """

    instances: Mapping[str, Instance]
    scripts: Mapping[str, tuple[ScriptName, ...]]
    readings: Mapping[str, Reading]
    clusters: Mapping[str, Cluster]
    expect: tuple[Expectation, ...]
    findings: tuple[Finding, ...]
    snapshots: Mapping[str, ScriptName] = field(default_factory=dict)
    agents: Mapping[str, Agent] = field(default_factory=dict)


def _no_file(name: str, source: Source) -> str:
    raise InputError(
        f"there is no file {name}",
        file=source.file, line=source.line, column=source.column,
        remedy="Put the text here, or load the topology from its folder.",
    )  # fmt: skip


def read_document(text: str, file: str, now: float, read: ReadFile = _no_file) -> Document:
    """Parse the file's text; raise InputError if its structure is wrong.

    ``read`` reads the files that the text names, except for scripts; by default, no file exists.
    """
    root = parse_yaml(text, file)
    given = root.fields("a topology", TOPOLOGY_KEYS) if root else {}
    findings: list[Finding] = []
    instances: dict[str, Instance] = {}
    scripts: dict[str, tuple[ScriptName, ...]] = {}
    readings: dict[str, Reading] = {}
    snapshots: dict[str, ScriptName] = {}
    if "instances" in given:
        for name, (key, node) in given["instances"].named("instances").items():
            instances[name] = _instance(name, key, node, now, findings, read)
            scripts[name] = _scripts(node)
            readings[name] = _reading(node)
            snapshots.update(_snapshot(name, node))
    clusters = _clusters(given["clusters"]) if "clusters" in given else {}
    expect = given["expect"].items("expectations") if "expect" in given else ()
    expectations = tuple(_expectation(node) for node in expect)
    agents = read_agents(given["agents"]) if "agents" in given else {}
    return Document(
        instances, scripts, readings, clusters, expectations, tuple(findings), snapshots, agents
    )


def _instance(
    name: str, key: Node, node: Node, now: float, findings: list[Finding], read: ReadFile
) -> Instance:
    given = node.fields("an instance", INSTANCE_KEYS)
    databases = {}
    if "databases" in given:
        for database, (at, value) in given["databases"].named("databases").items():
            if database.casefold() == MSDB:
                raise at.error(
                    "msdb is not a user database", "Write msdb: at the same level as databases:."
                )
            databases[database] = read_database(value, name, database, now, findings, read)
    msdb = empty_database(name, MSDB, key.source)
    if "msdb" in given:
        msdb = read_database(given["msdb"], name, MSDB, now, findings, read)
    return Instance(
        name,
        msdb,
        databases,
        _network(given["address"]) if "address" in given else None,
        tuple(_host(item) for item in _items(given, "aliases")),
        tuple(_network(item) for item in _items(given, "listeners")),
        _endpoint(given["endpoint"]) if "endpoint" in given else Endpoint(source=key.source),
        optional(given, "cluster"),
        given["partitions"].integer("partitions", 1, 1000) if "partitions" in given else 1,
        read_grants(given["grants"], Securable.ENDPOINT) if "grants" in given else (),
        source=key.source,
    )


def _items(given: Mapping[str, Node], key: str) -> tuple[Node, ...]:
    return given[key].items(key) if key in given else ()


def _network(node: Node) -> str:
    text = node.text("an address")
    address = parse_address(text)
    if address is None or address.kind is not AddressKind.NETWORK:
        node.fail("an address such as tcp://host:4022")
    return text


def _host(node: Node) -> str:
    text = node.text("a host")
    if parse_address(f"tcp://{text}:1") is None:
        node.fail("a host name or an IP address, without scheme and port")
    return text


def _endpoint(node: Node) -> Endpoint:
    keys = ("state", "forwarding", "forward_size_mb", "transport", "port", "name", "hide_path")
    s = node.fields("endpoint", (*keys, *ENDPOINT_SECURITY_KEYS))
    return Endpoint(
        s["state"].choice("state", EndpointState) if "state" in s else EndpointState.STARTED,
        "forwarding" in s and s["forwarding"].switch("forwarding"),
        s["forward_size_mb"].integer("megabytes", 1, 2**31 - 1) if "forward_size_mb" in s else 10,
        s["transport"].choice("transport", Transport) if "transport" in s else Transport.FAILOVER,
        s["port"].integer("port", 1, 65535) if "port" in s and not s["port"].is_null else None,
        optional(s, "name"),
        read_encryption(s),
        read_words(s, "algorithms"),
        read_words(s, "authentication"),
        "hide_path" in s and s["hide_path"].switch("hide_path"),
        source=node.source,
    )


def _scripts(node: Node) -> tuple[ScriptName, ...]:
    given = node.fields("an instance", INSTANCE_KEYS)
    return tuple(_script(item) for item in _items(given, "sql"))


def _script(item: Node) -> ScriptName:
    if not item.is_mapping:
        return ScriptName(item.text("a .sql file"), item.source)
    given = item.fields("a script", SCRIPT_KEYS)
    if "file" not in given:
        item.fail("file: and a .sql file")
    named = given["variables"].named("variables") if "variables" in given else {}
    return ScriptName(
        given["file"].text("a .sql file"),
        item.source,
        optional(given, "database"),
        {name: value.text("a value") for name, (_, value) in named.items()},
    )


def _reading(node: Node) -> Reading:
    given = node.fields("an instance", INSTANCE_KEYS)
    return given["scripts"].choice("scripts", Reading) if "scripts" in given else Reading.STRICT


def _snapshot(name: str, node: Node) -> dict[str, ScriptName]:
    given = node.fields("an instance", INSTANCE_KEYS)
    at = given.get("snapshot")
    path = None if at is None else at.maybe_text("a snapshot")
    return {} if at is None or path is None else {name: ScriptName(path, at.source)}


def _clusters(node: Node) -> dict[str, Cluster]:
    found = {}
    for name, (key, value) in node.mapping("clusters").items():
        rows = dict(value.mapping("librdkafka properties"))
        claims = _claims(rows.pop("claims")[1]) if "claims" in rows else None
        properties = {word: _property(item) for word, (_, item) in rows.items()}
        prefix, credentials = (properties.pop(word, None) for word in CLUSTER_KEYS)
        if prefix is not None and not is_prefix(prefix):
            rows["prefix"][1].fail("a valid start of a topic name", PREFIX_RULE)
        found[name] = Cluster(name, properties, prefix, credentials, claims, key.source)
    return found


def _claims(node: Node) -> Claims:
    """Read the senders that a cluster may name; omitted senders follow from the topology."""
    given = node.fields("claims", ("services", "broker_ids"))
    services, brokers = (
        given[key].texts(key) if key in given and not given[key].is_null else None
        for key in ("services", "broker_ids")
    )
    return Claims(services, brokers)


def _property(node: Node) -> str:
    """Return the value of a librdkafka property; numbers and booleans need no quotes."""
    value = node.raw.value
    return str(value) if isinstance(value, str) and not node.is_null else node.fail("a value")


def _expectation(node: Node) -> Expectation:
    given = node.fields("an expectation", ("from", "to", "verdict", "at", "broker"))
    for key in ("from", "to"):
        if key not in given:
            raise node.error(f"an expectation without {key}", "Give from, to and verdict.")
    verdict = optional(given, "verdict")
    if verdict is not None and verdict not in _VERDICTS:
        given["verdict"].fail(", ".join(_VERDICTS))
    at = None
    if "at" in given and not given["at"].is_null:
        at = given["at"].texts("places") if given["at"].is_list else (given["at"].text("a place"),)
    broker = optional(given, "broker")
    return Expectation(
        given["from"].text("from"), given["to"].text("to"), verdict, at, broker, node.source
    )
