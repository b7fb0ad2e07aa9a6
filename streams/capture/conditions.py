"""Conditions on records, in SQL: ``kind = 'event' AND error = 28007``.

SQLite evaluates the conditions, because its syntax is well known. Conditions must have no side
effects and must end: they cannot access tables or execute statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from weakref import finalize

from streams.capture.look import Look
from streams.capture.record import Record
from streams.errors import UsageError

COLUMNS = ("time", *Look._fields, "body", "key", "headers")
"""The columns of a condition: the fields of :class:`Look`, and the fields of the record."""
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}
_LATE = len(Look._fields) + 1


class Condition:
    """A compiled condition; raises UsageError for invalid SQL."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._database = sqlite3.connect(":memory:")
        finalize(self, self._database.close)
        self._database.set_authorizer(_authorize)
        columns = ", ".join(f"?{n} AS {_quoted(name)}" for n, name in enumerate(COLUMNS, 1))
        self._question = f"SELECT 1 FROM (SELECT {columns}) WHERE ({text}\n)"
        self._whole = any(name in text.casefold() for name in COLUMNS[_LATE:])
        self._ask((None,) * len(COLUMNS))

    def holds(self, look: Look, record: Record) -> bool:
        """Return whether the condition is true for a record; unknown (NULL) is not true."""
        late = _whole(record) if self._whole else (None, None, None)
        return self._ask((look.time, *look, *late))

    def _ask(self, values: tuple[object, ...]) -> bool:
        try:
            return self._database.execute(self._question, values).fetchone() is not None
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise UsageError(
                f"The condition cannot be read: {self._text}: {error}.",
                "Write an SQL condition, such as \"what = 'SEND' AND size > 1000\"; columns: "
                f"{', '.join(COLUMNS)}.",
            ) from None


def condition_of(text: str | None) -> Callable[[Look, Record], bool]:
    """Return a predicate on records, which is always true if ``text`` is None."""
    return _always if text is None else Condition(text).holds


def _always(_: Look, __: Record) -> bool:
    return True


def _whole(record: Record) -> tuple[str | None, str | None, str]:
    body, key = (_text(raw) for raw in (record.value, record.key))
    headers = "\n".join(f"{name}: {_text(value) or ''}" for name, value in record.headers)
    return body, key, headers


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace")


def _quoted(name: str) -> str:
    return f'"{name}"'


def _authorize(action: int, *_: str | None) -> int:
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY
