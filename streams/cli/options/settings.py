"""Settings as options; a flag overrides a variable, which overrides the file and the default."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from streams.cli.options.parameters import (
    ADDRESS,
    REPLICATION,
    SECONDS,
    TOPIC_PREFIX,
    Seconds,
)
from streams.errors import InputError, UsageError
from streams.settings import (
    NOTHING,
    SUFFIX,
    Credentials,
    Replication,
    Setting,
    SettingsFile,
    Sourced,
    credentials_of,
    demand_safe,
    is_filed,
    is_secret,
    property_variable,
    property_variables,
    read_settings,
    setting_of,
    settings_of,
    with_files_read,
)

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_FILE = "hopline.toml"
_TYPES: Mapping[str, click.ParamType] = {
    "prefix": TOPIC_PREFIX,
    "replication": REPLICATION,
    "worker.timeout": SECONDS,
    "worker.keep": Seconds(least=-1, most=10**10),
    "worker.http": ADDRESS,
    "worker.answer_within": SECONDS,
}
"""Settings with a validating parameter type."""
_SHORT: Mapping[str, tuple[str, ...]] = {"bootstrap": ("-b",), "worker.verbose": ("-v",)}
_NAME = re.compile(r"[\w.-]*")
_PATH, _FILE, _PROPERTIES = "hopline.path", "hopline.file", "hopline.properties"
_REPLICATION = "hopline.replication"


class SettingOption(click.Option):
    """An option that also reads the settings file."""

    def __init__(self, *args: Any, setting: Setting, **extra: Any) -> None:
        """Accept click's arguments, and the setting."""
        super().__init__(*args, **extra)
        self.setting = setting

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> Any:
        """Return the value and its source; the file is used if neither flag nor variable is set."""
        value, source = super().consume_value(ctx, opts)
        if source is not ParameterSource.DEFAULT or ctx.resilient_parsing:
            return value, source
        found = settings_file(ctx).settings.get((self.setting.section, self.setting.name))
        if found is None:
            return value, source
        self._demand_value(ctx, found)
        return found.value, ParameterSource.DEFAULT_MAP

    def _demand_value(self, ctx: click.Context, found: Sourced) -> None:
        """Report an invalid value with its location in the file, which click cannot report."""
        try:
            self.type_cast_value(ctx, found.value)
        except click.BadParameter as error:
            file, _, line = found.source.rpartition(":")
            message = f"{self.setting.key}: {error.message}"
            raise InputError(message, file=file, line=int(line)) from None

    def source_of(self, ctx: click.Context) -> str:
        """Return the source of the value: default, file:line, variable or flag."""
        match ctx.get_parameter_source(self.name or ""):
            case ParameterSource.COMMANDLINE:
                return self.setting.flag
            case ParameterSource.ENVIRONMENT:
                return self.setting.variable
            case ParameterSource.DEFAULT_MAP:
                place = (self.setting.section, self.setting.name)
                return str(settings_file(ctx).settings[place].source)
            case _:
                return "default"


def setting_option(section: str, name: str, unset: str = "", **extra: Any) -> Callable[[F], F]:
    """Add the option of a setting, with its default and description.

    If ``unset`` is given, the help shows it instead of the default, for a command that uses another
    value if the option is missing. ``extra`` is passed to click.
    """
    setting = setting_of(section, name)
    default = setting.default
    if isinstance(default, Enum):
        kind: dict[str, Any] = {"type": click.Choice([e.value for e in type(default)])}
        default = default.value
    elif isinstance(default, bool):
        kind = {"is_flag": True}
    else:
        kind = {"metavar": setting.metavar or None, "type": _TYPES.get(setting.key)}
    return click.option(
        f"{setting.flag}/--no-{setting.name}" if "is_flag" in kind else setting.flag,
        *_SHORT.get(setting.key, ()),
        cls=SettingOption,
        setting=setting,
        default=default,
        show_default=unset or bool(default),
        envvar=setting.variable,
        help=setting.says,
        **{"show_envvar": True, **kind, **extra},
    )


def section_options(section: str, **unset: str) -> Callable[[F], F]:
    """Add the options of all settings of a section; ``unset`` is as in :func:`setting_option`."""

    def add(command: F) -> F:
        for setting in reversed(list(settings_of(section))):
            command = setting_option(section, setting.name, unset.get(setting.name, ""))(command)
        return command

    return add


def _note_path(ctx: click.Context, _: click.Parameter, path: str | None) -> None:
    if path:
        ctx.meta[_PATH] = path


config_option = click.option(
    "--config",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    envvar="HOPLINE_CONFIG",
    show_envvar=True,
    is_eager=True,
    expose_value=False,
    callback=_note_path,
    help=f"Settings file. [default: {DEFAULT_FILE}, if it exists]",
)


def settings_file(ctx: click.Context) -> SettingsFile:
    """Return the settings file's content, read once; empty without a file."""
    if _FILE not in ctx.meta:
        named = ctx.meta.get(_PATH)
        path = Path(named or DEFAULT_FILE)
        found_here = named is None and path.exists()
        ctx.meta[_FILE] = _read(path) if named or found_here else NOTHING
        if found_here:  # in a clone or a shared folder, the file may be someone else's
            click.echo(f"Settings: {path} in this folder.", err=True)
    found: SettingsFile = ctx.meta[_FILE]
    return found


def _read(path: Path) -> SettingsFile:
    try:
        return read_settings(path.read_text(encoding="utf-8"), str(path))
    except UnicodeDecodeError as error:
        raise InputError("The file is not UTF-8.", file=str(path)) from error
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}",
            f"Give a settings file with --config or HOPLINE_CONFIG, or neither: {DEFAULT_FILE} is "
            "read if it exists.",
        ) from error


def _note_properties(ctx: click.Context, _: click.Parameter, given: tuple[str, ...]) -> None:
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            # Show only the name, because the rest may be a password.
            raise click.BadParameter(f"'{_NAME.match(text)[0]}' is not NAME=VALUE.")  # type: ignore[index]
        demand_safe({name: value}, "--kafka")
        _refuse_shown(name)
        found[name] = Sourced(value, "--kafka")
    ctx.meta[_PROPERTIES] = with_files_read(found)


def _refuse_shown(name: str) -> None:
    """Raise UsageError for a secret on a command line, which is visible to all users."""
    if not is_secret(name) or is_filed(name):
        return
    file = f", or --kafka {name}{SUFFIX}=FILE" if is_filed(f"{name}{SUFFIX}") else ""
    raise UsageError(
        f"--kafka: {name} would be visible to all users in the process list.",
        f"Set {property_variable(name)}{file}, or write it into [kafka] of {DEFAULT_FILE}.",
    )


properties_option = click.option(
    "--kafka",
    "properties",
    multiple=True,
    metavar="NAME=VALUE",
    expose_value=False,
    callback=_note_properties,
    help="librdkafka property; put secrets into [kafka] of the settings file.",
)


def sourced_properties(ctx: click.Context) -> dict[str, Sourced]:
    """Return librdkafka's properties, each with its source."""
    found = with_files_read(settings_file(ctx).properties)
    variables = dict(property_variables(os.environ))
    for name, sourced in variables.items():
        demand_safe({name: sourced.value}, sourced.source)
    found.update(with_files_read(variables))
    found.update(ctx.meta.get(_PROPERTIES, {}))
    return found


def _note_replication(ctx: click.Context, _: click.Parameter, text: str) -> None:
    ctx.meta[_REPLICATION] = text


replication_option = setting_option(
    "", "replication", expose_value=False, callback=_note_replication
)


def replication(ctx: click.Context) -> Replication:
    """Return the replication: from the flag, if the command has it, the environment or the file."""
    setting = setting_of("", "replication")
    filed = settings_file(ctx).settings.get(("", setting.name))
    texts = (ctx.meta.get(_REPLICATION), os.environ.get(setting.variable), filed and filed.value)
    return Replication(str(next(filter(None, texts), setting.default)))


def credentials(ctx: click.Context) -> Credentials:
    """Return the credentials for other clusters, from the file and the environment."""
    return credentials_of(settings_file(ctx), os.environ)


def refuse_property(text: str, source: str) -> UsageError:
    """Return the error for a property that the Kafka client rejects, with its source."""
    return UsageError(
        f"{source}: {text}.",
        "librdkafka's CONFIGURATION.md lists all properties and their values.",
    )
