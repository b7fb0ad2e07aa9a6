"""``--connect [NAME=]URL``: take snapshots of running SQL Servers instead of reading files.

A password comes from the environment. Only a person at a terminal is asked for one
(docs/decisions/0056).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from streams.errors import UsageError
from streams.prose import one_line
from streams.sqlserver import PASSWORD, Driver, Server, load_driver, read_url, take_snapshot

F = TypeVar("F", bound=Callable[..., Any])


def connect_option(command: F) -> F:
    """Add ``--connect``, whose values become :class:`~streams.sqlserver.Server`s."""
    return click.option(
        "--connect",
        "servers",
        multiple=True,
        metavar="[NAME=]URL",
        callback=_servers,
        help="Take a snapshot of a running SQL Server: mssql://[USER@]HOST[:PORT][/DATABASE]. "
        f"The password is in {PASSWORD}, or you are asked; without USER, your Windows account "
        "logs in. Needs the extra 'sqlserver'. Repeatable.",
    )(command)


def snapshots_of(
    servers: Iterable[Server], driver: Driver | None = None
) -> Iterator[tuple[Server, str]]:
    """Yield each server with the text of its snapshot, and report each on stderr.

    Raises UsageError without a password, and SurroundingsError for a server that refuses.
    """
    for server in servers:
        driver = driver or load_driver()
        password = _password(server) if server.needs_password else None
        click.echo(one_line(f"Taking a snapshot of {server.name} ({server.address})"), err=True)
        yield server, take_snapshot(server, password, driver)


def save(server: Server, text: str, folder: Path) -> Path:
    """Write a server's snapshot into a folder; return its file."""
    file = folder / server.file
    file.write_text(text, encoding="utf-8", errors="replace")
    return file


def _servers(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[Server, ...]:
    servers = tuple(map(read_url, given))
    seen: set[str] = set()
    for server in servers:
        if server.file.casefold() in seen:
            raise UsageError(
                f"--connect: {server.name} is given twice.", "State another NAME: NAME=URL."
            )
        seen.add(server.file.casefold())
    return servers


def _password(server: Server) -> str:
    stated = os.environ.get(PASSWORD)
    if stated:
        return stated
    if not _is_at_terminal():
        raise UsageError(
            f"--connect: there is no password for {one_line(str(server.user))} on {server.name}.",
            f"Set {PASSWORD}.",
        )
    asked: str = click.prompt(
        one_line(f"Password of {server.user} on {server.name}"), hide_input=True, err=True
    )
    return asked


def _is_at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
