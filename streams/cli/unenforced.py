"""Report T-SQL settings that no worker of Hopline enforces."""

from __future__ import annotations

from collections.abc import Sequence

import click

from streams.topology import Finding

_SHOWN = 5


def report_unenforced(found: Sequence[Finding]) -> None:
    """Write findings of TA-47 to stderr, the first few in full."""
    for finding in found[:_SHOWN]:
        click.echo(f"hopline: {finding.file}:{finding.line}: {finding.message}.", err=True)
    if found:
        more = f"{len(found) - _SHOWN} more; see 'hopline check'. " * (len(found) > _SHOWN)
        click.echo(f"  {more}{found[0].remedy}", err=True)
