"""``hopline version``: the same output as ``hopline --version``."""

from __future__ import annotations

import click

from streams.cli.group import version_text


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(version_text())
