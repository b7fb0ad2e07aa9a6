"""Show what a command will change, and ask for confirmation unless ``--yes`` is given.

The prompt appears only in a terminal; scripts simply continue (docs/decisions/0039).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from streams.cli.exit_codes import NOT_OK
from streams.kafka import Cluster
from streams.prose import listed, one_line

F = TypeVar("F", bound=Callable[..., Any])

_YES = "hopline.yes"
_NAMED = 3
"""The maximum number of names that a step lists; all are counted."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The steps of a command in a cluster, one line each; empty steps are left out."""

    cluster: Cluster
    steps: tuple[str, ...]


def yes_option(command: F) -> F:
    """Add ``--yes``, which :func:`confirm` obeys."""
    return click.option(
        "--yes", "-y", is_flag=True, expose_value=False, callback=_remember,
        help="Do not ask for confirmation.",
    )(command)  # fmt: skip


def step(verb: str, names: Iterable[str]) -> str:
    """Describe a step with its number of objects and a few names; empty without objects."""
    known = list(names)
    return f"{verb} {len(known):,}: {listed(known, _NAMED)}" if known else ""


def confirm(*planned: Changes) -> None:
    """Print each cluster with its changes on stderr; in a terminal, ask whether to continue.

    If the answer is no, the command exits with code 1. If there are no changes, nothing is printed.
    """
    ctx = click.get_current_context()
    changing = [each for each in planned if any(each.steps)]
    for each in changing:
        where = f"Kafka at {each.cluster.bootstrap}, cluster id {each.cluster.id()}"
        for line in (f"{where}:", *(f"  {text}" for text in each.steps if text)):
            click.echo(one_line(line), err=True)
    if not changing or ctx.meta.get(_YES) or not _is_at_terminal():
        return
    if not click.confirm("Continue?", err=True):
        click.echo("Nothing was changed.", err=True)
        ctx.exit(NOT_OK)


def _is_at_terminal() -> bool:
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def _remember(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    ctx.meta[_YES] = value
