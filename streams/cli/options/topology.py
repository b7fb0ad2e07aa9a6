"""Arguments of commands about a topology: the folder, and a conversation's id."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from streams.analysis.places import unknown
from streams.cli.text.values import one_line
from streams.errors import UsageError
from streams.prose import meant
from streams.resources import topologies_dir
from streams.topology import MSDB, Instance, Topology, empty_database, load

F = TypeVar("F", bound=Callable[..., Any])


class TopologyArgument(click.ParamType):
    """A topology's folder, or the name of a shipped topology."""

    name = "topology"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Topology:
        """Load the topology; lifetimes begin now."""
        if isinstance(value, Topology):
            return value
        return load(find_folder(str(value)), time.time())


def ensure_something(topology: Topology) -> Topology:
    """Return a topology; raise UsageError for an empty one.

    An empty file is usually the wrong file, so no result for it may look like success.
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

    Raise UsageError, which lists the shipped names, for an unknown plain name.
    """
    path = Path(text)
    if path.exists() or path.is_absolute() or len(path.parts) != 1:
        return path
    shipped = {folder.name: folder for folder in topologies_dir().iterdir() if folder.is_dir()}
    if path.name not in shipped:
        raise unknown("folder or shipped topology", text, shipped, "Hopline")
    return shipped[path.name]


def doubt_service(topology: Topology, name: str, *, always: bool = False) -> None:
    """Suggest a similar service on stderr for a name that is in no database or route.

    ``always``: warn even if no name is similar.
    """
    names = {
        known
        for instance in topology.instances.values()
        for database in (*instance.databases.values(), instance.msdb)
        for known in (*database.services, *(route.service for route in database.routes))
        if known is not None
    }
    near = "" if name in names else meant(name, sorted(names))
    if near or (always and name not in names):
        warning = f"hopline: no database has a service '{name}'. {near}"
        click.echo(one_line(warning.rstrip()), err=True)


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
