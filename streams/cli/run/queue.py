"""``hopline queue``: turn a queue on or off.

Turning a queue off has the same effect as five rollbacks in a row (9617, event 143).
"""

from __future__ import annotations

from typing import Any

import click

from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.confirm import yes_option
from streams.cli.options.parameters import IN_DATABASE
from streams.cli.options.shared import cluster_options
from streams.cli.run.sql import sql
from streams.topology.export.quoting import bracket, split_name


@click.command()
@click.argument("status", type=click.Choice(["on", "off"]))
@click.argument("name")
@click.option("--at", required=True, type=IN_DATABASE, help="Instance and database of the queue.")
@yes_option
@timeout_option()
@format_option()
@cluster_options
@click.pass_context
def queue(ctx: click.Context, /, status: str, name: str, **options: Any) -> None:
    """Turn the queue NAME on or off: `ALTER QUEUE NAME WITH STATUS = ON` in the catalog.

    While a queue is off, RECEIVE is refused (9617) and arriving messages wait. A queue that a
    poison message has turned off still contains that message, so fix the receiving application
    first.
    """
    quoted = ".".join(map(bracket, split_name(name) or (name,)))
    text = f"ALTER QUEUE {quoted} WITH STATUS = {status.upper()}"
    ctx.invoke(sql, text=text, file=None, dry_run=False, **options)
