"""``hopline help``: the help of a command, as ``--help`` shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import click
from click.shell_completion import CompletionItem

from streams.errors import UsageError


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the next part of a command's name, after the parts that have already been given."""
    command: click.Command | None = ctx.find_root().command
    for name in ctx.params.get(param.name or "") or ():
        command = command.get_command(ctx, name) if isinstance(command, click.Group) else None
    names = command.list_commands(ctx) if isinstance(command, click.Group) else ()
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command("help")
@click.argument("command", nargs=-1, shell_complete=_complete)
@click.pass_context
def help_(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Show the help of COMMAND, such as `capture import`, or the list of commands."""
    click.echo(_found(ctx, command).get_help())


def _found(ctx: click.Context, names: Sequence[str]) -> click.Context:
    """Return the context of a command; raise UsageError if there is no such command."""
    found = ctx.find_root()
    for name in names:
        group = found.command
        if not isinstance(group, click.Group):
            raise UsageError(
                f"`{found.command_path}` has no commands, so there is no '{name}'.",
                f"See `{found.command_path} --help`.",
            )
        _, command, _ = group.resolve_command(found, [name, "--help"])
        found = click.Context(cast(click.Command, command), found, info_name=name)
    return found
