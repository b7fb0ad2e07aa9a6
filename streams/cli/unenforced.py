"""Tell what T-SQL asks for and no worker of Hopline's does: silence would be a promise."""

from __future__ import annotations

from collections.abc import Sequence

import click

from streams.topology import Finding

_TOLD = 5


def tell_unenforced(found: Sequence[Finding]) -> None:
    """Write findings of TA-47 to stderr, the first ones in full."""
    for told in found[:_TOLD]:
        click.echo(f"hopline: {told.file}:{told.line}: {told.message}.", err=True)
    if found:
        more = f"{len(found) - _TOLD} more are in 'hopline check'. " * (len(found) > _TOLD)
        click.echo(f"  {more}{found[0].remedy}", err=True)
