"""``--begin``: the start position of a consumer group without offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from streams.cli.options.renamed import RenamedOption
from streams.client import Begin

F = TypeVar("F", bound=Callable[..., Any])


def begin_option(command: F) -> F:
    """Add the option, as ``begin``."""
    return click.option(
        "--begin",
        cls=RenamedOption,
        former="--from",  # which names a service in other commands
        multiple=True,
        metavar="POSITION",
        help="Start position in partitions without a committed offset: beginning, end, OFFSET or "
        "PARTITION:OFFSET (may be repeated).",
    )(command)


def begin_of(values: Sequence[str]) -> Begin | None:
    """Return the option's value; raise UsageError if invalid."""
    match values:
        case ():
            return None
        case ("beginning",):
            return "beginning"
        case ("end",):
            return "end"
        case (text,) if text.isdecimal():
            return int(text)
    begin: dict[int, int] = {}
    for text in values:
        partition, _, offset = text.partition(":")
        if not (partition.isdecimal() and offset.isdecimal()) or int(partition) in begin:
            raise click.UsageError(
                f"--begin {text}: give beginning, end or OFFSET once, or PARTITION:OFFSET once for "
                "each partition."
            )
        begin[int(partition)] = int(offset)
    return begin
