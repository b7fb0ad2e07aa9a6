"""``hopline skip``: give up an undecodable statement."""

from __future__ import annotations

import click

from streams.cli.options.answer import timeout_option
from streams.cli.options.shared import cluster_options
from streams.cli.options.statement import reached
from streams.live.admin.skip import skip_statement


@click.command()
@click.argument("place")
@timeout_option()
@cluster_options
def skip(place: str, timeout: float, bootstrap: str, prefix: str) -> None:
    """Skip the unreadable statement at PLACE, which holds back its partition of `cmd`.

    A statement in an unknown schema holds back its partition, because its application was
    promised that it is accepted. Usually another version has written it, and `hopline apply` of
    that version makes it readable. If no version can read it, this command lets the worker skip
    it within a second and report it as event 161.

    The worker's log and the alert HoplineStatementHeldBack name the place.

    \b
    hopline skip cmd.ServerA/0@6140
    """
    version = skip_statement(reached(bootstrap, prefix, timeout), place)
    click.echo(f"{place} will be skipped from catalog version {version} on")
