"""Emulate sqlcmd: ``:setvar NAME value`` and ``$(NAME)``."""

from __future__ import annotations

import re

_SETVAR = re.compile(r':setvar\s+(\w[\w-]*)(?:\s+(?:"((?:[^"]|"")*)"|(\S+)))?\s*$', re.IGNORECASE)
_USED = re.compile(r"\$\((\w[\w-]*)\)")
_ELSEWHERE = {
    ":r": "another file is included here",
    ":connect": "the following statements run on another server",
}


class SqlcmdVariables:
    """The variables that a script has set so far; their names are case-insensitive."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

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

    def put_into(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return a text with its variables replaced, and the names of unset variables."""
        unknown: list[str] = []

        def value(match: re.Match[str]) -> str:
            known = self._values.get(match[1].casefold())
            if known is None:
                unknown.append(match[1])
                return match[0]
            return known

        return _USED.sub(value, text), tuple(unknown)


def leads_elsewhere(directive: str) -> str:
    """Return why the script does not show a directive's effect; "" if it does."""
    return _ELSEWHERE.get(directive.split(maxsplit=1)[0].casefold(), "")
