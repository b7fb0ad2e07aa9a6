"""``hopline skip``: skip an undecodable statement."""

from __future__ import annotations

import click

from streams.cli.options.answer import timeout_option
from streams.cli.options.confirm import Changes, confirm, yes_option
from streams.cli.options.shared import cluster_options
from streams.cli.options.statement import reached
from streams.live.admin.skip import skip_statement


@click.command()
@click.argument("place")
@yes_option
@timeout_option()
@cluster_options
def skip(place: str, timeout: float, bootstrap: str, prefix: str) -> None:
    """Skip the unreadable statement at PLACE, which blocks its partition of `cmd`.

    A statement with an unknown schema blocks its partition, because the statement must not be lost.
    Usually another version of Hopline has written it, and `hopline apply` of that version makes it
    readable. If no version can read the statement, use this command: within a second, the worker
    skips the statement and reports it as event 161. At a terminal, the command asks for
    confirmation.

    The worker's log and the alert HoplineStatementHeldBack report PLACE.

    \b
    hopline skip cmd.ServerA/0@6140
    """
    cluster = reached(bootstrap, prefix, timeout)
    version = skip_statement(
        cluster, place, lambda found: confirm(Changes(cluster, (f"skip the statement {found}",)))
    )
    click.echo(f"{place} will be skipped as of catalog version {version}")
