"""A driver that answers as Microsoft's does, without a server: no SQL Server runs here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


class DriverError(Exception):
    """An error with the two texts of the driver's errors, which have no number."""

    def __init__(self, driver_error: str, ddbc_error: str) -> None:
        super().__init__(f"Driver Error: {driver_error}; DDBC Error: {ddbc_error}")
        self.driver_error, self.ddbc_error = driver_error, ddbc_error


class FakeDriver:
    """A driver, its connection and its cursor, which note how they are used.

    ``results``: what the script returns, each a row or None for a statement without rows.
    """

    def __init__(
        self,
        *documents: dict[str, Any],
        refuses: Exception | None = None,
        fails: Exception | None = None,
        results: Sequence[tuple[Any] | None] | None = None,
    ) -> None:
        self.documents = list(documents)
        self.refuses, self.fails, self.results = refuses, fails, results
        self.keywords: list[dict[str, Any]] = []
        self.statements: list[str] = []
        self.closed = self.timeout = 0
        self.pools = True
        self._left: list[tuple[Any] | None] = []

    def pooling(self, *, enabled: bool) -> None:
        self.pools = enabled

    def connect(self, **keywords: Any) -> FakeDriver:
        self.keywords.append(keywords)
        if self.refuses is not None:
            raise self.refuses
        return self

    def cursor(self) -> FakeDriver:
        return self

    def execute(self, statement: str) -> None:
        self.statements.append(statement)
        if self.fails is not None:
            raise self.fails
        if self.results is None:
            cell = f"<?hopline {json.dumps(self.documents.pop(0), ensure_ascii=False)}?>"
            self._left = [None, (cell,)]
        else:
            self._left = list(self.results)

    @property
    def description(self) -> list[tuple[str]] | None:
        return None if not self._left or self._left[0] is None else [("snapshot",)]

    def nextset(self) -> bool:
        del self._left[:1]
        return bool(self._left)

    def fetchone(self) -> tuple[Any] | None:
        return self._left[0]

    def close(self) -> None:
        self.closed += 1
