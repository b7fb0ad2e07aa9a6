"""Options of most commands: the output format, and the timeout for Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from streams.cli.options.parameters import SECONDS

F = TypeVar("F", bound=Callable[..., Any])


def format_option(
    formats: Iterable[str] = ("text", "json"), help: str = "Output format."
) -> Callable[[F], F]:
    """Add ``--format`` as the parameter ``format_``; the first format is the default."""
    names = list(formats)
    return click.option(
        "--format", "-f", "format_", default=names[0], show_default=True, type=click.Choice(names),
        help=help,
    )  # fmt: skip


def timeout_option(
    seconds: float = 30.0, help: str = "Seconds to wait for Kafka."
) -> Callable[[F], F]:
    """Add ``--timeout`` in seconds."""
    return click.option("--timeout", default=seconds, show_default=True, type=SECONDS, help=help)
