"""``hopline path``: every path of a message, in both directions."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping

import click

from streams.analysis import LIMIT, Paths, find_paths, find_sender, path_mermaid, path_text
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.parameters import BROKER_ID, SERVICE
from streams.cli.options.topology import (
    TopologyArgument,
    doubt_broker,
    doubt_service,
    hash_option,
)
from streams.cli.text.terminal import ENDINGS, show
from streams.topology import Topology


def _json(paths: Paths) -> str:
    return json.dumps(paths.to_json(), indent=2, ensure_ascii=False) + "\n"


_FORMATS: Mapping[str, Callable[[Paths], str]] = {
    "text": path_text,
    "json": _json,
    "mermaid": path_mermaid,
}


@click.command()
@click.argument("topology", type=TopologyArgument())
@click.option(
    "--from",
    "sender",
    required=True,
    metavar="INSTANCE/DATABASE[/SERVICE]",
    help="Initiator service. SERVICE can be omitted if only one is possible.",
)
@click.option("--to", required=True, type=SERVICE, help="Target service of the message.")
@click.option("--broker", type=BROKER_ID, help="Broker id that BEGIN DIALOG specifies.")
@hash_option(default="all")
@click.option(
    "--limit",
    metavar="N",
    default=LIMIT,
    show_default=True,
    type=click.IntRange(min=0),
    help="Maximum number of paths to list; all are counted.",
)
@format_option(_FORMATS)
@click.pass_context
def path(
    ctx: click.Context,
    topology: Topology,
    sender: str,
    to: str,
    broker: str | None,
    conversation: uuid.UUID | None,
    limit: int,
    format_: str,
) -> None:
    """Show all paths from one service to another, and the path of the acknowledgement.

    TOPOLOGY is a folder or the name of a shipped topology. Each line of the tree is a hop: the
    instance that receives the message, and the rule (M1 to M7) and route that sent it there. If
    there are more paths than --limit, similar paths share a line.

    The exit code is 1 if the verdict is `broken` (a message or its acknowledgement does not
    arrive) or `hazard` (it arrives, but `check` reports an error: TA-12, TA-17, TA-31, TA-39).

    \b
    hopline path hub --from ServerA/DatabaseA --to TargetService
    """
    place = find_sender(topology, sender, to)
    doubt_service(topology, to)
    doubt_broker(topology, broker)
    paths = find_paths(
        topology, place, to, time.time(), broker=broker, conversation=conversation, limit=limit
    )
    text = _FORMATS[format_](paths)
    if format_ == "text":
        show(text, ENDINGS)
    else:
        click.echo(text, nl=False)
    ctx.exit(0 if paths.good else NOT_OK)
