"""What every command that asks about a topology takes: the folder, and a conversation's id."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

import click

from streams.resources import topologies_dir
from streams.topology import Topology, load


class TopologyArgument(click.ParamType):
    """A topology's folder, or the name of a shipped one."""

    name = "topology"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Topology:
        """Load the topology as of now."""
        if isinstance(value, Topology):
            return value
        return load(find_folder(str(value)), time.time())


def find_folder(text: str) -> Path:
    """Return the path that is meant: what is there under the name, else the shipped topology."""
    path = Path(text)
    shipped = topologies_dir() / path
    plain = len(path.parts) == 1 and not path.is_absolute()
    return shipped if not path.exists() and plain and shipped.is_dir() else path


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
            self.fail(f"'{value}' is no GUID: write 8-4-4-4-12 hexadecimal digits", param, ctx)
