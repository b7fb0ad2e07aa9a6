"""A page for each command: usage, description and every option, from click."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from docs_site.page import Page, block, code, escaped, table
from streams.cli import main
from streams.cli.commands import COMMANDS, Section
from streams.cli.headed import HeadedCommand

FOLDER = "reference/commands"
_DOCS = re.compile(r"\bdocs/(\w+)\.md")


def pages() -> Iterator[Page]:
    """Yield the list of commands, and a page for each."""
    yield Page(f"{FOLDER}/index.md", _index())
    root = _within(None, "hopline", main)
    for name in COMMANDS:
        command = main.get_command(root, name)
        assert command is not None
        text = "\n".join(_part(command, _within(root, name, command), 1))
        yield Page(f"{FOLDER}/{name}.md", text)


def options() -> Iterator[tuple[str, click.Option]]:
    """Yield every option of every command, with the command's name."""
    root = _within(None, "hopline", main)
    for name in COMMANDS:
        command = main.get_command(root, name)
        assert command is not None
        for context in _walked(command, _within(root, name, command)):
            for param in context.command.params:
                if isinstance(param, click.Option):
                    yield context.command_path.removeprefix("hopline "), param


def _within(outer: click.Context | None, name: str, command: click.Command) -> click.Context:
    return click.Context(command, outer, info_name=name, **command.context_settings)


def _walked(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    yield context
    for name, inner in _subcommands(command, context):
        yield from _walked(inner, _within(context, name, inner))


def _subcommands(
    command: click.Command, context: click.Context
) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None and not inner.hidden:
                yield name, inner


def _index() -> str:
    lines = [
        "# Commands",
        "",
        "Every command has `--help`; `hopline help COMMAND` prints the same. `-o` is `--output`,",
        "`-f` is `--format` and `-b` is `--bootstrap` in every command.",
        "",
        "Exit codes: 0: success; 1: the result is negative; 2: wrong usage or unreadable input;",
        "3: Kafka or another service is unavailable or broken, or an unexpected error; 130:",
        "interrupted.",
        "",
    ]
    for section in Section:
        rows = [
            (f"[`{name}`]({name}.md)", escaped(entry.help))
            for name, entry in COMMANDS.items()
            if entry.section is section
        ]
        lines += [f"## {section.value}", "", table(("command", ""), rows)]
    return "\n".join(lines)


def _part(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """Yield a command's lines, and those of the commands below it."""
    path = context.command_path
    yield f"{'#' * level} {path}\n"
    yield block(command.get_usage(context).removeprefix("Usage: "))
    yield from _described(command.help or "")
    yield from _options(command, context, path.removeprefix("hopline").split()[1:])
    for name, inner in _subcommands(command, context):
        yield from _part(inner, _within(context, name, inner), level + 1)


def _described(text: str) -> Iterator[str]:
    r"""Yield the paragraphs of a help text; one after ``\b`` keeps its lines."""
    for paragraph in inspect.cleandoc(text).partition("\f")[0].split("\n\n"):
        if paragraph.startswith("\b"):
            yield block(inspect.cleandoc(paragraph.removeprefix("\b").strip("\n")))
        elif paragraph.strip():
            yield _DOCS.sub(r"[docs/\1.md](../../\1.md)", escaped(paragraph)) + "\n"


def _options(command: click.Command, context: click.Context, below: list[str]) -> Iterator[str]:
    headings = command.headings if isinstance(command, HeadedCommand) else {}
    heading_of = {name: heading for heading, names in headings.items() for name in names}
    for heading in ("Options", *headings):
        rows = [
            (code(record[0], "-".join((*below, _name(param)))), escaped(record[1]))
            for param in command.get_params(context)
            if heading_of.get(param.name or "", "Options") == heading
            and (record := param.get_help_record(context)) is not None
        ]
        if rows:
            yield table((heading.lower() if heading == "Options" else heading, ""), rows)


def _name(param: click.Parameter) -> str:
    return max(param.opts, key=len).lstrip("-")
