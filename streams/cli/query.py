"""``hopline query``: the system views, over what the workers know."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import click

from streams.analysis import find_at
from streams.cli.options import cluster_of, cluster_options
from streams.cli.record_text import body_text, instant, shorten, type_text
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, Fetcher, headers_of, partitions_of, read_catalog
from streams.node.views import Row, conversation_endpoint, parked, routes, transmission_queue
from streams.protocol import Command, Dialog
from streams.protocol import Message as Frame
from streams.routing import broker_key
from streams.topology import Database, Instance, Topology
from streams.wire import MalformedError
from streams.wire.plain import body_of
from streams.wire.records import read_command, read_message
from streams.workers.restore import restore_state

_TIMES = ("lifetime", "security_timestamp", "enqueue_time")
_SHOWN: Mapping[str, tuple[str, ...]] = {
    "sys.conversation_endpoints": (
        "conversation_id",
        "is_initiator",
        "state",
        "far_service",
        "far_broker_instance",
        "send_sequence",
        "receive_sequence",
        "service_name",
        "contract_name",
        "state_desc",
        "lifetime",
    ),
    "sys.transmission_queue": (
        "conversation_id",
        "message_sequence_number",
        "transmission_status",
        "to_service_name",
        "message_type_name",
        "message_body",
        "to_broker_instance",
        "from_service_name",
        "enqueue_time",
    ),
    "sys.routes": (
        "name",
        "remote_service_name",
        "broker_instance",
        "address",
        "mirror_address",
        "lifetime",
        "route_id",
    ),
}
"""The columns of the table, the most telling first: as many as the width has room for."""
_GAP = "  "
_WIDEST = 36


@click.command()
@click.argument("view", metavar="VIEW", type=click.Choice(list(_SHOWN), case_sensitive=False))
@click.option("--at", metavar="INSTANCE[/DATABASE]", help="Only there. [default: everywhere]")
@click.option("--timeout", default=30.0, show_default=True, help="Seconds to wait for Kafka.")
@click.option("--format", "format_", default="text", type=click.Choice(["text", "json"]))
@cluster_options
def query(
    view: str, at: str | None, timeout: float, format_: str, bootstrap: str, prefix: str
) -> None:
    """Print a system view: the columns are those of SQL Server's documentation.

    VIEW is sys.conversation_endpoints, sys.transmission_queue or sys.routes.

    What is printed is what the endpoint workers have committed; they need not run. The table has
    the columns that fit, JSON has all of them.
    """
    cluster = cluster_of(bootstrap, prefix)
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    topology = read_catalog(cluster).topology
    if topology is None:
        raise UsageError("The catalog is empty.", "Run 'hopline apply TOPOLOGY' first.")
    rows = list(_VIEWS[view](cluster, _places(topology, at)))
    for row in rows:
        for name in _TIMES:
            if name in row:
                row[name] = instant(row[name])
    if format_ == "json":
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False, default=_body))
    else:
        for line in table(rows, _columns(view, at), _width()):
            click.echo(line)


Places = list[tuple[Instance, tuple[Database, ...]]]
"""Instances, with those of their databases that are asked about."""


def _places(topology: Topology, at: str | None) -> Places:
    if at is None:
        return [(i, _databases(i)) for i in topology.instances.values()]
    instance, database = find_at(topology, at)
    return [(instance, _databases(instance) if database is None else (database,))]


def _databases(instance: Instance) -> tuple[Database, ...]:
    return (*instance.databases.values(), instance.msdb)


# --- the views -----------------------------------------------------------------------------------


def _endpoints(cluster: Cluster, places: Places) -> Iterator[Row]:
    now = time.time_ns() // 1_000_000
    for instance, databases in places:
        for dialog, _ in _dialogs(cluster, instance, databases):
            row = conversation_endpoint(instance.name, dialog, now)
            if row is not None:
                yield row


def _transmission_queue(cluster: Cluster, places: Places) -> Iterator[Row]:
    for instance, databases in places:
        bodies: dict[int, _Bodies] = {}
        try:
            for dialog, partition in _dialogs(cluster, instance, databases):
                if partition not in bodies:
                    bodies[partition] = _Bodies(cluster, instance.name, partition)
                stored = bodies[partition]
                yield from transmission_queue(instance.name, dialog, stored.command)
                yield from parked(instance.name, dialog, stored.frame)
        finally:
            for stored in bodies.values():
                stored.close()


def _routes(_: Cluster, places: Places) -> Iterator[Row]:
    for instance, databases in places:
        for database in databases:
            yield from routes(instance.name, database)


_VIEWS: Mapping[str, Callable[[Cluster, Places], Iterator[Row]]] = {
    "sys.conversation_endpoints": _endpoints,
    "sys.transmission_queue": _transmission_queue,
    "sys.routes": _routes,
}


def _dialogs(
    cluster: Cluster, instance: Instance, databases: Sequence[Database]
) -> Iterator[tuple[Dialog, int]]:
    """Yield the endpoints of databases with their partitions, oldest first; no dead ones."""
    topic = cluster.topics.dialog(instance.name)
    alive = {d.name: broker_key(d.broker_id) for d in databases}
    found: list[tuple[Dialog, int]] = []
    for partition in partitions_of(cluster, topic):
        try:
            restored = restore_state(cluster, topic, partition, to_high=False)
        except MalformedError as error:
            raise SurroundingsError(f"{topic}/{partition} cannot be understood: {error}") from error
        found += [(dialog, partition) for dialog in restored.dialogs.values()]
    for dialog, partition in sorted(found, key=lambda f: (f[0].created_at, f[0].conversation)):
        # Another broker id than the catalog's means NEW_BROKER: the dialog is gone.
        if alive.get(dialog.database) == broker_key(dialog.broker_id):
            yield dialog, partition


class _Bodies:
    """What is in one partition of ``cmd`` and ``in``, by position; ``None``: deleted since."""

    def __init__(self, cluster: Cluster, instance: str, partition: int) -> None:
        topics = cluster.topics
        self._cmd = Fetcher(cluster, topics.cmd(instance), partition)
        self._in = Fetcher(cluster, topics.inbox(instance), partition)

    def command(self, position: int) -> Command | None:
        """Return a command."""
        with suppress(SurroundingsError, MalformedError):
            m = self._cmd.fetch(position)
            return read_command(m.key(), m.value(), headers_of(m), m.timestamp()[1])
        return None

    def frame(self, position: int) -> Frame | None:
        """Return a message frame."""
        with suppress(SurroundingsError, MalformedError):
            m = self._in.fetch(position)
            return read_message(m.key(), m.value(), headers_of(m))
        return None

    def close(self) -> None:
        """Let the broker go."""
        self._cmd.close()
        self._in.close()


# --- printing ------------------------------------------------------------------------------------


def _columns(view: str, at: str | None) -> tuple[str, ...]:
    """Return the columns that the table may have; what --at says needs none."""
    where = () if at and "/" in at else ("database",) if at else ("instance", "database")
    return (*where, *_SHOWN[view])


def _width() -> int:
    return max(60, shutil.get_terminal_size((100, 24)).columns)


def table(rows: Sequence[Row], columns: Sequence[str], width: int) -> Iterator[str]:
    """Yield the lines of a table with as many of the columns, in their order, as fit."""
    if not rows:
        yield "(no rows)"
        return
    cells = [{name: _cell(name, row[name]) for name in columns} for row in rows]
    sizes = {c: max(len(c), *(len(row[c]) for row in cells)) for c in columns}
    shown, used = [], 0
    for name in columns:
        if used + sizes[name] <= width:
            shown.append(name)
            used += sizes[name] + len(_GAP)
    yield _GAP.join(name.ljust(sizes[name]) for name in shown).rstrip()
    yield _GAP.join("-" * sizes[name] for name in shown)
    for row in cells:
        yield _GAP.join(row[name].ljust(sizes[name]) for name in shown).rstrip()
    plural = "" if len(rows) == 1 else "s"
    yield f"({len(rows)} row{plural})"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes):
        return body_text(body_of(value), 20)
    text = type_text(str(value)) if name == "message_type_name" else str(value)
    return shorten(text, _WIDEST)


def _body(value: object) -> object:
    if isinstance(value, bytes):
        return body_of(value)
    raise TypeError(f"{type(value).__name__} is no JSON")
