"""Read `hopline.toml`: values with their lines; invalid values are rejected."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from streams.errors import InputError
from streams.prose import meant
from streams.settings.model import CLUSTERS, PROPERTIES, SECTIONS, settings_of
from streams.settings.properties import ADDRESS, Sourced, refusal_of

_TABLES = (*SECTIONS, PROPERTIES, CLUSTERS)
_LINES = 200
"""Maximum number of lines of a value. All values after a longer value get its line number."""
_PLACE = re.compile(r" \(at line (\d+), column (\d+)\)$")
_END = re.compile(r" \(at end of document\)$")


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The content of a file: settings by section and name, and librdkafka's properties by name.

    ``clusters`` contains the properties of other clusters, by the name of the credentials.
    """

    path: str = ""
    settings: Mapping[tuple[str, str], Sourced] = field(default_factory=dict)
    properties: Mapping[str, Sourced] = field(default_factory=dict)
    clusters: Mapping[str, Mapping[str, Sourced]] = field(default_factory=dict)


NOTHING = SettingsFile()


def read_settings(text: str, path: str) -> SettingsFile:
    """Read a settings file; raise InputError with the place of an invalid value."""
    parsed = _parse(text, path)
    lines = _lines_of(text)
    settings: dict[tuple[str, str], Sourced] = {}
    properties: dict[str, Sourced] = {}
    clusters: dict[str, dict[str, Sourced]] = {}
    for keys, value in _leaves(parsed):
        place = _Place(path, lines[keys])
        if keys[0] == PROPERTIES and len(keys) > 1:
            name = ".".join(keys[1:])
            _demand_safe(PROPERTIES, name, value, place)
            properties[name] = Sourced(_as_text(value), str(place))
        elif keys[0] == CLUSTERS and len(keys) > 2:
            name = ".".join(keys[2:])
            _demand_safe(f"{CLUSTERS}.{keys[1]}", name, value, place)
            clusters.setdefault(keys[1], {})[name] = Sourced(_as_text(value), str(place))
        elif keys[0] == CLUSTERS and len(keys) == 2:
            if value != {}:
                raise place.refuse(f"{'.'.join(keys)} is a table of librdkafka's properties.")
        else:
            settings[_setting(keys, value, place)] = Sourced(value, str(place))
    return SettingsFile(path, settings, properties, clusters)


@dataclass(frozen=True, slots=True)
class _Place:
    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    def refuse(self, message: str, remedy: str = "") -> InputError:
        """Return the error for an entry at this place."""
        return InputError(message, file=self.path, line=self.line, remedy=remedy)


def _parse(text: str, path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        at = _PLACE.search(reason)
        line, column = (int(at[1]), int(at[2])) if at else (len(text.splitlines()), 0)
        what = _END.sub("", _PLACE.sub("", reason))
        raise InputError(
            f"This is not valid TOML: {what}.", file=path, line=line, column=column
        ) from None
    except (ValueError, RecursionError):
        reason, remedy = (
            "A number has too many digits, or lists nest too deeply.",
            "Write it shorter.",
        )
        raise InputError(reason, file=path, remedy=remedy) from None


def _leaves(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """Yield every value with its keys; an empty table counts as a value."""
    for key, value in table.items():
        keys = (*above, key)
        if isinstance(value, dict) and value:
            yield from _leaves(value, keys)
        elif not isinstance(value, dict) or len(keys) > 1 or key not in _TABLES:
            yield keys, value


def _lines_of(text: str) -> dict[tuple[str, ...], int]:
    """Return the line on which each value begins.

    A value ends at the first line that makes the lines since the previous value valid TOML, under
    the last header. A search for the value's name would not be reliable, because the name may be
    quoted, dotted, or a word in a string.
    """
    found: dict[tuple[str, ...], int] = {}
    lines, begin, header = text.replace("\r\n", "\n").split("\n"), 0, ""
    parsed: dict[str, Any] = {}
    while begin < len(lines):
        for end in (*range(begin + 1, min(begin + _LINES, len(lines))), len(lines)):
            piece = "\n".join(lines[begin:end])
            try:
                parsed = tomllib.loads(f"{header}\n{piece}")
            except tomllib.TOMLDecodeError:
                continue
            break
        for keys, _ in _leaves(parsed):
            found.setdefault(keys, begin + 1)
        header = piece if piece.lstrip().startswith("[") else header
        begin = end
    return found


def _setting(keys: tuple[str, ...], value: object, place: _Place) -> tuple[str, str]:
    section, name = ("", keys[0]) if len(keys) == 1 else (keys[0], ".".join(keys[1:]))
    known = {s.name: s for s in settings_of(section)}
    if section not in SECTIONS:
        raise place.refuse(f"Unknown table [{section}].", _suggest(section, _tables()))
    if name not in known:
        everywhere = [s.key for s in settings_of()]
        key = f"{section}.{name}" if section else name
        raise place.refuse(f"Unknown setting {key}.", _suggest(key, everywhere))
    setting = known[name]
    taken, wanted = _wanted(setting.default)
    if not isinstance(value, taken) or isinstance(value, bool) is not (taken is bool):
        raise place.refuse(f"{setting.key} must be {wanted}.")
    return section, name


def _wanted(default: object) -> tuple[Any, str]:
    """Return the TOML types allowed for a setting with this default, and their description."""
    if isinstance(default, bool):
        return bool, "true or false"
    if isinstance(default, float):
        return str | int | float, "a string or a number"
    return str | int, "a string or an integer"


def _tables() -> list[str]:
    return [name for name in _TABLES if name]


def _suggest(word: str, words: list[str]) -> str:
    return meant(word, words) or f"Valid names: {', '.join(words)}."


def _demand_safe(table: str, name: str, value: object, place: _Place) -> None:
    if not isinstance(value, str | int | float):
        raise place.refuse(f"{table}.{name} must be a string, a number, true or false.")
    why = None if table != PROPERTIES and name == ADDRESS else refusal_of(name, str(value))
    if why is not None:
        raise place.refuse(f"{name} cannot be set: {why}", "Leave it out.")


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
