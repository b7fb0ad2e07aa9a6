"""``hopline config``: show settings and their sources."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import click

from streams.cli.group import SuggestingGroup
from streams.cli.options.answer import format_option
from streams.cli.options.settings import (
    SettingOption,
    config_option,
    credentials,
    properties_option,
    section_options,
    sourced_properties,
)
from streams.settings import Sourced, is_secret, unknown_variables

Row = tuple[str, Sourced]


@click.group(cls=SuggestingGroup)
def config() -> None:
    """Show settings and where each value comes from.

    The file has the settings of all commands at the top, those of workers in [worker], and
    librdkafka properties in [kafka], except those that could lose messages. [clusters.NAME] has
    the properties of another cluster that forwarders write to. docs/settings.md lists all
    settings.
    """


@config.command()
@section_options("")
@section_options("worker")
@properties_option
@config_option
@format_option()
@click.pass_context
def show(ctx: click.Context, /, format_: str, **_: object) -> None:
    """Show every setting, its value and its source.

    Flags have the same effect as in `hopline worker`. Passwords and keys are shown as ***.
    """
    rows = [*_settings(ctx), *_properties(ctx)]
    if format_ == "json":
        click.echo(json.dumps([_described(row) for row in rows], ensure_ascii=False))
    else:
        _print(rows)
    for variable, near in unknown_variables(os.environ):
        hint = f" Did you mean {near}?" if near else ""
        click.echo(f"hopline: unknown variable {variable}.{hint}", err=True)


def _settings(ctx: click.Context) -> Iterator[Row]:
    for option in ctx.command.params:
        if isinstance(option, SettingOption):
            value = ctx.params[option.name or ""]
            yield option.setting.key, Sourced(value, option.source_of(ctx))


def _properties(ctx: click.Context) -> Iterator[Row]:
    for name, sourced in sorted(sourced_properties(ctx).items()):
        shown = "***" if is_secret(name) else sourced.value
        yield f"kafka.{name}", Sourced(shown, sourced.source)
    for cluster, name, sourced in credentials(ctx):
        shown = "***" if is_secret(name) else sourced.value
        yield f"clusters.{cluster.lower()}.{name}", Sourced(shown, sourced.source)


def _described(row: Row) -> dict[str, object]:
    key, sourced = row
    return {"setting": key, "value": sourced.value, "source": sourced.source}


def _print(rows: list[Row]) -> None:
    texts = [(key, _text(s.value), s.source) for key, s in rows]
    wide = [max(len(text[column]) for text in texts) for column in (0, 1)]
    for key, value, source in texts:
        click.echo(f"{key:<{wide[0]}}  {value:<{wide[1]}}  {source}".rstrip())


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value) or "(none)"
