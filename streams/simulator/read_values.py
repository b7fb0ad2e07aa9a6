"""The values of a scenario's file: durations, fractions, and names of the topology."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from streams.analysis import find_at, find_sender
from streams.analysis.places import find_instance, unknown
from streams.errors import UsageError
from streams.protocol import DEFAULT
from streams.simulator.clock import SECOND
from streams.times import read_duration
from streams.topology import Database, Instance, Topology, failover, queues_of
from streams.topology.yaml_file.nodes import Node

T = TypeVar("T")

_LONGEST = 100 * 366 * 24 * 3600 * SECOND


def word(node: Node, what: str) -> str:
    """Return a string regardless of YAML's type: ``no`` and ``1`` are words here."""
    raw = node.raw
    if node.is_null or not isinstance(raw.value, str):
        node.fail(what)
    return str(raw.value)


def duration(node: Node, *, signed: bool = False) -> int:
    """Return microseconds from ``5ms``, ``60s``, ``2m``, ``1h``; a bare number means seconds."""
    text = word(node, "a duration").strip()
    negative = signed and text.startswith("-")
    microseconds = read_duration(text[1:] if negative else text)
    if microseconds is None:
        node.fail("a duration such as 5ms, 60s or 2m")
    if microseconds > _LONGEST:
        node.fail("a duration of at most a hundred years")
    return -round(microseconds) if negative else round(microseconds)


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
    """The names of the topology, for the nodes of a scenario."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        databases = [d for i in topology.instances.values() for d in i.databases.values()]
        self._types = {DEFAULT, *(n for d in databases for n in d.message_types)}
        self._contracts = {DEFAULT, *(n for d in databases for n in d.contracts)}

    def instance(self, node: Node) -> str:
        """Return an instance's name."""
        return _found(node, lambda: find_instance(self._topology, word(node, "an instance"))).name

    def link(self, node: Node) -> tuple[str, str]:
        """Return the two ends of a link."""
        ends = [self.instance(item) for item in node.items("two instances")]
        if len(ends) != 2 or ends[0] == ends[1]:
            raise node.error("a link has two ends", "Write it like [ServerA, ServerB].")
        return ends[0], ends[1]

    def database(self, node: Node) -> tuple[str, str]:
        """Read ``INSTANCE/DATABASE``."""
        instance, database = self._at(node, word(node, "INSTANCE/DATABASE"))
        return instance.name, database.name

    def service(self, node: Node) -> tuple[str, str, str]:
        """Read ``INSTANCE/DATABASE/SERVICE``; the service's name can contain slashes."""
        text = word(node, "INSTANCE/DATABASE/SERVICE")
        place = _found(node, lambda: find_sender(self._topology, text, ""))
        return place.instance.name, place.database.name, place.service

    def queue(self, node: Node) -> tuple[str, str, str]:
        """Read ``INSTANCE/DATABASE/QUEUE``."""
        where, _, queue = word(node, "INSTANCE/DATABASE/QUEUE").rpartition("/")
        instance, database = self._at(node, where)
        _demand(node, "queue", queue, [q.name for q in queues_of(database)], where)
        return instance.name, database.name, queue

    def partner(self, pair: Node, to: Node) -> tuple[str, str]:
        """Return a mirrored pair, and the instance that becomes its principal."""
        name, instance = word(pair, "a pair"), self.instance(to)
        _found(to, lambda: failover(self._topology, name, instance))
        return name, instance

    def message_type(self, node: Node) -> str:
        """Return a message type that any database declares."""
        name = word(node, "a message type")
        return _demand(node, "message type", name, self._types, "The topology")

    def contract(self, node: Node) -> str:
        """Return a contract that any database declares."""
        name = word(node, "a contract")
        return _demand(node, "contract", name, self._contracts, "The topology")

    def _at(self, node: Node, text: str) -> tuple[Instance, Database]:
        instance, database = _found(node, lambda: find_at(self._topology, text))
        if database is None:
            node.fail("INSTANCE/DATABASE")
        return instance, database


def _found(node: Node, find: Callable[[], T]) -> T:
    """Return the value that was found, or raise an error at the node's place."""
    try:
        return find()
    except UsageError as error:
        raise node.error(error.message, error.remedy) from error


def _demand(node: Node, what: str, name: str, known: Iterable[str], where: str) -> str:
    """Return an existing name."""
    names = sorted(known)
    if name not in names:
        error = unknown(what, name, names, where)
        raise node.error(error.message, error.remedy)
    return name
