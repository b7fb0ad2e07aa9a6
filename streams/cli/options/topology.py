"""Arguments of commands about a topology: the folder, and a conversation's id."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from streams.analysis.places import unknown
from streams.errors import UsageError
from streams.prose import clipped, listed, meant, one_line, wrapped
from streams.resources import topologies_dir
from streams.routing import broker_key
from streams.topology import MSDB, Database, Instance, Topology, empty_database, load

F = TypeVar("F", bound=Callable[..., Any])


class TopologyArgument(click.ParamType):
    """A topology's folder, or the name of a shipped topology."""

    name = "topology"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Topology:
        """Load the topology; the lifetimes of its routes begin now."""
        if isinstance(value, Topology):
            return value
        return load(find_folder(str(value)), time.time())


def ensure_something(topology: Topology) -> Topology:
    """Return a topology; raise UsageError for an empty one.

    An empty file is usually the wrong file, so no command may report success for it.
    """
    blank = (
        i == Instance(i.name, empty_database(i.name, MSDB)) for i in topology.instances.values()
    )
    if all(blank) and not topology.findings and not topology.expect:
        count = len(topology.instances)
        what = "0 instances" if not count else f"{count} without any object"
        raise UsageError(
            f"The topology is empty ({what}): nothing was checked.",
            "Check the folder; `hopline import` reports which statements of scripts it has "
            "understood.",
        )
    return topology


def find_folder(text: str) -> Path:
    """Return the folder at a path, or the folder of a shipped topology.

    Raise UsageError, which lists the shipped names, for an unknown plain name. If a missing path
    ends in a shipped name, the error suggests this name.
    """
    path = Path(text)
    if path.exists():
        return path
    shipped = {folder.name: folder for folder in topologies_dir().iterdir() if folder.is_dir()}
    if path.is_absolute() or len(path.parts) != 1:
        if path.name in shipped:
            raise UsageError(
                f"There is no topology at {path}.",
                f"Did you mean the shipped topology '{path.name}'?",
            )
        return path
    if path.name not in shipped:
        raise unknown("folder or shipped topology", text, shipped, "Hopline")
    return shipped[path.name]


def doubt_service(topology: Topology, name: str, *, live: bool = False) -> None:
    """Warn on stderr of a service that is in no database or route.

    With ``live``, the topology is a cluster's catalog, and the warning does not list its services.
    """
    names = {
        known
        for database in _databases(topology)
        for known in (*database.services, *(route.service for route in database.routes))
        if known is not None
    }
    if name in names:
        return
    has = "no database has a" if live else "no database of this topology has a"
    known = "" if live else _known(names)
    _warn(f"{has} service '{name}'. {meant(name, sorted(names)) or known}")


def doubt_broker(topology: Topology, broker: str | None) -> None:
    """Warn on stderr of a broker id that is in no database or route."""
    databases = list(_databases(topology))
    ids = {database.broker_id for database in databases}
    ids |= {r.broker for database in databases for r in database.routes if r.broker is not None}
    if broker is None or broker_key(broker) in map(broker_key, ids):
        return
    names = ids - {instance.msdb.broker_id for instance in topology.instances.values()}
    near = meant(broker, sorted(names)) or _known(names)
    _warn(f"no database of this topology has the broker id '{broker}'. {near}")


def _databases(topology: Topology) -> Iterator[Database]:
    for instance in topology.instances.values():
        yield from (*instance.databases.values(), instance.msdb)


def _known(names: Iterable[str]) -> str:
    shown = listed([clipped(name) for name in sorted(names)])
    return f"The topology has: {shown or 'none'}."


def _warn(text: str) -> None:
    line = one_line(f"hopline: warning: {text}".rstrip())
    lines = wrapped(line, "", "  ") if sys.stderr.isatty() else [line]
    click.echo("\n".join(lines), err=True)


class ConversationId(click.ParamType):
    """A conversation's id."""

    name = "uuid"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> uuid.UUID:
        """Read a GUID in any of its usual forms."""
        if isinstance(value, uuid.UUID):
            return value
        try:
            return uuid.UUID(str(value))
        except ValueError:
            self.fail(f"'{value}' is not a GUID: write 8-4-4-4-12 hexadecimal digits.", param, ctx)


def hash_option(default: str) -> Callable[[F], F]:
    """Return the option for the conversation id to be hashed; the help shows ``default``."""
    return click.option(
        "--conversation",
        type=ConversationId(),
        help=f"Conversation id whose hash selects among routes. [default: {default}]",
    )
