"""The values of a scenario's file: durations, fractions, and names that the topology must have."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from streams.protocol import DEFAULT
from streams.simulator.clock import MILLISECOND, SECOND
from streams.topology import Database, Instance, Topology, queues_of
from streams.topology.yaml_file.nodes import Node

_DURATION = re.compile(r"(-?)(\d+(?:\.\d+)?)(us|ms|s|m|h)?")
_UNITS: Mapping[str | None, int] = {
    "us": 1, "ms": MILLISECOND, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, None: SECOND,
}  # fmt: skip


def word(node: Node, what: str) -> str:
    """Return a text however YAML would read it: ``no`` is a word here, and so is ``1``."""
    raw = node.raw
    if node.is_null or not isinstance(raw.value, str):
        node.fail(what)
    return str(raw.value)


def duration(node: Node, *, signed: bool = False) -> int:
    """Return microseconds from ``5ms``, ``60s``, ``2m``, ``1h``; a bare number is seconds."""
    match = _DURATION.fullmatch(word(node, "a duration").strip())
    if match is None or (match[1] and not signed):
        node.fail("a duration such as 5ms, 60s or 2m")
    whole = round(float(match[2]) * _UNITS[match[3]])
    return -whole if match[1] else whole


def fraction(node: Node) -> float:
    """Return a probability from 0 to 1."""
    try:
        value = float(word(node, "a probability"))
    except ValueError:
        node.fail("a probability from 0 to 1")
    if not 0 <= value <= 1:
        node.fail("a probability from 0 to 1")
    return value


class Names:
    """What the topology has, asked by the nodes of a scenario."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        databases = [d for i in topology.instances.values() for d in i.databases.values()]
        self._types = {DEFAULT, *(n for d in databases for n in d.message_types)}
        self._contracts = {DEFAULT, *(n for d in databases for n in d.contracts)}

    def instance(self, node: Node) -> str:
        """Return an instance's name."""
        return self._instance(node, word(node, "an instance")).name

    def link(self, node: Node) -> tuple[str, str]:
        """Return the two ends of a link."""
        ends = [self.instance(item) for item in node.items("two instances")]
        if len(ends) != 2 or ends[0] == ends[1]:
            raise node.error("a link has two ends", "Write it like [ServerA, ServerB].")
        return ends[0], ends[1]

    def database(self, node: Node) -> tuple[str, str]:
        """Read ``INSTANCE/DATABASE``."""
        instance, _, rest = word(node, "INSTANCE/DATABASE").partition("/")
        found = self._instance(node, instance)
        database = found.database(rest)
        if database is None:
            raise _unknown(node, "database", rest, (*found.databases, "msdb"), found.name)
        return found.name, database.name

    def service(self, node: Node) -> tuple[str, str, str]:
        """Read ``INSTANCE/DATABASE/SERVICE``; a service's name may have slashes itself."""
        instance, database, service = self._three(node, "SERVICE")
        found = self._database(instance, database)
        if service not in found.services:
            raise _unknown(node, "service", service, found.services, f"{instance}/{database}")
        return instance, database, service

    def queue(self, node: Node) -> tuple[str, str, str]:
        """Read ``INSTANCE/DATABASE/QUEUE``."""
        instance, database, queue = self._three(node, "QUEUE")
        known = {q.name for q in queues_of(self._database(instance, database))}
        if queue not in known:
            raise _unknown(node, "queue", queue, known, f"{instance}/{database}")
        return instance, database, queue

    def message_type(self, node: Node) -> str:
        """Return a message type that some database declares."""
        return _known(node, "message type", self._types)

    def contract(self, node: Node) -> str:
        """Return a contract that some database declares."""
        return _known(node, "contract", self._contracts)

    def _three(self, node: Node, last: str) -> tuple[str, str, str]:
        parts = word(node, f"INSTANCE/DATABASE/{last}").split("/", 2)
        if len(parts) != 3:
            node.fail(f"INSTANCE/DATABASE/{last}")
        found = self._instance(node, parts[0])
        database = found.database(parts[1])
        if database is None:
            raise _unknown(node, "database", parts[1], found.databases, found.name)
        return found.name, database.name, parts[2]

    def _instance(self, node: Node, name: str) -> Instance:
        found = self._topology.instance(name)
        if found is None:
            raise _unknown(node, "instance", name, self._topology.instances, "the topology")
        return found

    def _database(self, instance: str, database: str) -> Database:
        found = self._topology.instances[instance].database(database)
        assert found is not None, "its name was found a moment ago"
        return found


def _known(node: Node, what: str, names: Iterable[str]) -> str:
    name = word(node, f"a {what}")
    if name not in names:
        raise _unknown(node, what, name, names, "the topology")
    return name


def _unknown(node: Node, what: str, name: str, known: Iterable[str], where: str) -> Exception:
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    meant = f"Did you mean '{near[0]}'? " if near else ""
    has = ", ".join(names[:20]) or "none"
    return node.error(f"there is no {what} '{name}'", f"{meant}{where} has: {has}.")
