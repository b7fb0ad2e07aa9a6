"""Options of all commands: short flags, formats, and former names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from streams.cli import main
from streams.cli.options.renamed import RenamedOption

SHORT = {
    "--output": "-o", "--format": "-f", "--bootstrap": "-b", "--verbose": "-v", "--help": "-h",
    "--yes": "-y",
}  # fmt: skip
"""All short flags; a new one is for an option that means the same in every command."""

WITHOUT_FORMAT = {
    # They start something that lasts, and report on stderr.
    "demo", "worker", "outbox", "monitor", "dashboard", "kafka prepare",
    # Their output has a format of its own: T-SQL, a script of a shell, help, one line.
    "export", "completion", "help", "version", "skip",
}  # fmt: skip
MORE_FORMATS = {"path": "mermaid", "flows": "mermaid", "check": "sarif"}

FORMER = {
    ("begin", "--group-id"): "--conversation-group",
    ("move", "--group-id"): "--conversation-group",
    ("demo", "--keep"): "--keep-running",
    ("receive", "--from"): "--begin",
    ("worker", "--from"): "--begin",
    **{
        (command, former): now
        for command in ("verify", "capture", "capture slice", "simulate")
        for former, now in (("--from", "--since"), ("--to", "--until"))
    },
}


def walked(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from walked(inner, click.Context(inner, context, info_name=name))


ROOT = click.Context(main, info_name="hopline", help_option_names=["-h", "--help"])
COMMANDS = {c.command_path.removeprefix("hopline").strip(): c for c in walked(main, ROOT)}
OPTIONS = [
    (name, option)
    for name, context in COMMANDS.items()
    for option in context.command.get_params(context)
    if isinstance(option, click.Option)
]


def names(option: click.Option) -> tuple[list[str], list[str]]:
    given = [*option.opts, *option.secondary_opts]
    return [n for n in given if not n.startswith("--")], [n for n in given if n.startswith("--")]


def test_a_short_flag_means_one_option_everywhere() -> None:
    meanings = defaultdict(set)
    for _, option in OPTIONS:
        short, long = names(option)
        for flag in short:
            meanings[flag].add(long[0])
    assert dict(meanings) == {short: {long} for long, short in SHORT.items()}


@pytest.mark.parametrize(("long", "short"), SHORT.items())
def test_an_option_has_its_short_flag_everywhere(long: str, short: str) -> None:
    having = [(name, option) for name, option in OPTIONS if long in option.opts]
    assert having and [name for name, option in having if short not in option.opts] == []


def test_formats_are_text_and_json_everywhere() -> None:
    formats = {
        name: option.type.choices
        for name, option in OPTIONS
        if "--format" in option.opts and isinstance(option.type, click.Choice)
    }
    for name, choices in formats.items():
        more = [MORE_FORMATS[name]] if name in MORE_FORMATS else []
        assert list(choices) == ["text", "json", *more]
    groups = {
        name
        for name, context in COMMANDS.items()
        if isinstance(context.command, click.Group) and not context.command.invoke_without_command
    }
    assert COMMANDS.keys() - formats.keys() - groups == WITHOUT_FORMAT


def test_former_names_are_known_and_in_no_help() -> None:
    renamed = [(name, o) for name, o in OPTIONS if isinstance(o, RenamedOption)]
    assert {(name, o.former): o.opts[0] for name, o in renamed} == FORMER
    for name, option in renamed:
        text = COMMANDS[name].get_help()
        assert f"{option.former} " not in text and option.opts[0] in text


@pytest.mark.parametrize(("command", "former"), FORMER)
def test_a_former_name_is_parsed_like_the_present_one(command: str, former: str) -> None:
    context = COMMANDS[command]
    (option,) = (o for name, o in OPTIONS if name == command and FORMER[command, former] in o.opts)
    values = {"--group-id": ["4ddf8b15-835d-5100-954c-21bedd064fa6"], "--keep": []}
    value = values.get(former, ["5s"] if command == "simulate" else ["2026-01-05"])
    found = []
    for name in (former, option.opts[0]):
        parsed = click.Context(context.command, resilient_parsing=True)
        context.command.parse_args(parsed, [name, *value])
        found.append(parsed.params[option.name or ""])
    assert found[0] == found[1] and found[0] not in (None, (), False)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_and_names_its_values(name: str) -> None:
    """Examples are not wrapped, so their lines are short."""
    text = COMMANDS[name].get_help()
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert " RANGE" not in text


def test_status_shows_no_variable_that_it_ignores() -> None:
    """Without --bootstrap it shows what `hopline up` runs here, whatever the settings name."""
    shown = CliRunner().invoke(main, ["status", "--help"])
    assert shown.exit_code == 0
    assert "env var: HOPLINE_BOOTSTRAP" not in " ".join(shown.output.split())
