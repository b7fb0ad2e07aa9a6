"""Every setting with its names, its default and the commands that take it."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from docs_site import commands
from docs_site.page import Page, code, escaped, table
from streams.settings import settings_of
from streams.settings.model import Setting

_HEAD = """\
# All settings

[Settings](../settings.md) explains how settings are read, and the properties of librdkafka.
"""


def pages() -> Iterator[Page]:
    """Yield the page of all settings."""
    takers: dict[str, list[str]] = {}
    for command, option in commands.options():
        if isinstance(option.envvar, str):
            takers.setdefault(option.envvar, []).append(command)
    parts = (_part(setting, takers.get(setting.variable, [])) for setting in settings_of())
    yield Page("reference/settings.md", "\n".join([_HEAD, *parts]))


def _part(setting: Setting, takers: list[str]) -> str:
    default = getattr(setting.default, "value", setting.default)
    rows = [
        ("in the file", code(setting.key)),
        ("variable", code(setting.variable)),
        ("flag", code(setting.flag)),
        ("default", "none" if default == "" else code(str(default).lower())),
    ]
    if isinstance(setting.default, Enum):
        rows.append(("values", ", ".join(code(str(one.value)) for one in type(setting.default))))
    names = dict.fromkeys(takers)
    if names:
        rows.append(("commands", ", ".join(_linked(name, setting.flag) for name in names)))
    return f"## {setting.key}\n\n{escaped(setting.says)}\n\n{table(('', ''), rows)}"


def _linked(command: str, flag: str) -> str:
    first, *below = command.split()
    anchor = "-".join((*below, flag.lstrip("-")))
    return f"[`{command}`](commands/{first}.md#{anchor})"
