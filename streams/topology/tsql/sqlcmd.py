"""Emulate sqlcmd: ``:setvar NAME value`` and ``$(NAME)``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from streams.errors import InputError

MOST_ADDED = 1_000_000
"""Maximum number of characters that variables may add to a script of up to this length.

In a longer script, variables may add as many characters as the script has.
"""
_SETVAR = re.compile(r':setvar\s+(\w[\w-]*)(?:\s+(?:"((?:[^"]|"")*)"|(\S+)))?\s*$', re.IGNORECASE)
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
VARIABLE = re.compile(r"\w[\w-]*")
"""The name of a variable."""
_USED = re.compile(r"\$\((\w[\w-]*)\)")
_ELSEWHERE = {
    ":r": "another file is included here",
    ":connect": "the following statements run on another server",
}


_CONNECT = re.compile(r"(:connect)\s+(\S+)", re.IGNORECASE)
_SERVER = re.compile(
    r"(?:(?:tcp|np|lpc|admin):)?(?P<host>[a-z][\w-]*)(?:\.[\w.-]+)?(?P<instance>\\[\w$]+)?(?:,\d+)?",
    re.IGNORECASE,
)
_THIS_HOST = frozenset({"local", "localhost"})


class SqlcmdVariables:
    """The variables that a script has set so far; their names are case-insensitive.

    ``length`` is the number of characters of the script. ``given`` contains the variables before
    the script begins; ``:setvar`` takes precedence over them, as over ``sqlcmd -v``.
    """

    def __init__(self, length: int, given: Mapping[str, str] = NO_VARIABLES) -> None:
        self._values: dict[str, str] = {name.casefold(): text for name, text in given.items()}
        self._limit = max(MOST_ADDED, length)
        self._added = 0

    @property
    def exhausted(self) -> bool:
        """Return whether the variables have added the maximum number of characters."""
        return self._added > self._limit

    def set(self, directive: str) -> bool:
        """Process a ``:setvar``, which removes the variable if it has no value.

        Return whether the line is a ``:setvar``.
        """
        found = _SETVAR.match(directive)
        if found is None:
            return False
        name, quoted, plain = found.groups()
        value = quoted.replace('""', '"') if quoted is not None else plain
        if value is None:
            self._values.pop(name.casefold(), None)
        else:
            self._values[name.casefold()] = value
        return True

    def put_into(self, text: str, place: tuple[str, int, int]) -> tuple[str, tuple[str, ...]]:
        """Return a string with its variables replaced, and the names of unset variables.

        Raises InputError at ``place`` (file, line, column) if the script would become too large: a
        few hundred kilobytes could otherwise expand to more than fits into memory.
        """
        unknown: list[str] = []

        def value(match: re.Match[str]) -> str:
            known = self._values.get(match[1].casefold())
            if known is None:
                unknown.append(match[1])
                return match[0]
            self._added += max(0, len(known) - len(match[0]))
            if self.exhausted:
                raise self._too_much(place)
            return known

        return _USED.sub(value, text), tuple(unknown)

    def _too_much(self, place: tuple[str, int, int]) -> InputError:
        file, line, column = place
        message = f"its sqlcmd variables add more than {self._limit:,} characters"
        remedy = "Write the values out."
        return InputError(message, file=file, line=line, column=column, remedy=remedy)


def without_login(directive: str) -> str:
    """Return a directive without the user and the password that ``:connect`` may have."""
    found = _CONNECT.match(directive)
    return directive if found is None else f"{found[1]} {found[2]}"


def connected_server(directive: str) -> str:
    """Return the server of ``:connect``, or "" if another name may mean the same server.

    Servers with different results are different: variables, IP addresses and names of the own host
    are left out, and domain and port are removed.
    """
    found = _CONNECT.match(directive)
    server = _SERVER.fullmatch(found[2].strip('"')) if found else None
    if server is None or server["host"].casefold() in _THIS_HOST:
        return ""
    return server["host"] + (server["instance"] or "")


def leads_elsewhere(directive: str) -> str:
    """Return why the script does not show a directive's effect; "" if it does."""
    return _ELSEWHERE.get(directive.split(maxsplit=1)[0].casefold(), "")
