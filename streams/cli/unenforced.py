"""Report T-SQL settings that no worker of Hopline enforces."""

from __future__ import annotations

from collections.abc import Sequence

import click

from streams.prose import one_line
from streams.topology import Finding

_SHOWN = 5


def report_unenforced(found: Sequence[Finding]) -> None:
    """Write findings of TA-47 to stderr, the first few in full."""
    for finding in found[:_SHOWN]:
        place = f"{finding.file}:{finding.line}" if finding.file else finding.subject
        text = f"hopline: {place}: {finding.message}."
        click.echo(one_line(text), err=True)
    if found:
        more = f"{len(found) - _SHOWN} more; see 'hopline check'. " * (len(found) > _SHOWN)
        remedies = " ".join(dict.fromkeys(finding.remedy for finding in found))
        click.echo(one_line(f"  {more}{remedies}"), err=True)
