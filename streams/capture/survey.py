"""The content of a capture in numbers: dialogs, services, rates, gaps and duplicates.

Rows are kept in a temporary database, so memory does not grow with the capture.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from streams.capture.look import MALFORMED, Look

COLUMNS = 60
"""The number of columns of the chart of rates."""
_BATCH = 5_000
_TABLE = """
CREATE TABLE seen (
    topic INTEGER, partition INTEGER, offset INTEGER, at INTEGER, kind TEXT, conversation TEXT,
    side TEXT, what TEXT, sequence INTEGER, id TEXT)
"""


@dataclass(frozen=True, slots=True)
class Flow:
    """Dialogs between two services, and the messages of both sides."""

    from_service: str
    to_service: str
    contract: str
    dialogs: int
    messages: int


@dataclass(frozen=True, slots=True)
class Survey:
    """The numbers; times are epoch milliseconds, ``width`` is a column's width in ``rates``, in ms.

    ``offsets`` counts missing offsets between the first and the last offset of a partition,
    including transaction markers; ``sequences`` counts messages that a queue lacks before its last
    message.
    """

    records: int
    body_bytes: int
    first: int | None
    last: int | None
    topics: dict[str, int]
    what: dict[str, int]
    types: dict[str, int]
    errors: dict[int, int]
    dialogs: int
    begun: int
    ended: int
    flows: tuple[Flow, ...]
    rates: tuple[int, ...]
    width: float
    silence: int
    silent_from: int | None
    offsets: int
    sequences: int
    repeated_records: int
    repeated_commands: int
    repeated_deliveries: int
    malformed: int


@dataclass(slots=True)
class _Counts:
    records: int = 0
    body_bytes: int = 0
    topics: Counter[str] = field(default_factory=Counter)
    what: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)

    def take(self, one: Look) -> None:
        self.records += 1
        self.body_bytes += one.size
        self.topics[one.topic] += 1
        self.what[f"{one.kind or 'other'}: {one.what}" if one.what else one.kind or "other"] += 1
        if one.type is not None and one.kind in ("cmd", "queue"):
            self.types[one.type] += 1
        if one.error:
            self.errors[one.error] += 1


def survey(looks: Iterable[Look]) -> Survey:
    """Count records; exceptions of the iterator ``looks`` are not caught."""
    counts = _Counts()
    database = sqlite3.connect("", isolation_level=None)
    try:
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536"):
            database.execute(f"PRAGMA {pragma}")
        database.execute(_TABLE)
        database.execute("CREATE TABLE begun (conversation TEXT, f TEXT, t TEXT, contract TEXT)")
        _keep(database, looks, counts)
        return _answer(database, counts)
    finally:
        database.close()


def _keep(database: sqlite3.Connection, looks: Iterable[Look], counts: _Counts) -> None:
    numbers: dict[str, int] = {}
    rows: list[tuple[Any, ...]] = []
    begins: list[tuple[Any, ...]] = []
    for one in looks:
        counts.take(one)
        number = numbers.setdefault(one.topic, len(numbers))
        rows.append((
            number, one.partition, one.offset, one.at, one.kind, one.conversation, one.side,
            one.what, one.sequence, one.id,
        ))  # fmt: skip
        if one.what == "BEGIN":
            names = (one.from_service or "", one.to_service or "", one.contract or "")
            begins.append((one.conversation, *names))
        if len(rows) >= _BATCH:
            _write(database, rows, begins)
    _write(database, rows, begins)


def _write(
    database: sqlite3.Connection, rows: list[tuple[Any, ...]], begins: list[tuple[Any, ...]]
) -> None:
    database.execute("BEGIN")
    database.executemany(f"INSERT INTO seen VALUES ({', '.join('?' * 10)})", rows)
    database.executemany("INSERT INTO begun VALUES (?, ?, ?, ?)", begins)
    database.execute("COMMIT")
    rows.clear()
    begins.clear()


def _answer(database: sqlite3.Connection, counts: _Counts) -> Survey:
    def one(question: str, *values: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = database.execute(question, values).fetchone()
        return found

    first, last = one("SELECT min(at), max(at) FROM seen WHERE at >= 0")
    rates, width = _rates(database, first, last)
    silence, silent_from = one(
        "SELECT max(gap), at - gap FROM (SELECT at, at - lag(at) OVER (ORDER BY at) AS gap "
        "FROM seen WHERE at >= 0)"
    )
    # total, because a sum of numbers that any writer may claim would overflow
    offsets, repeated = one(
        "SELECT total(spread - different), total(n - different) FROM (SELECT max(offset) - "
        "min(offset) + 1 AS spread, count(DISTINCT offset) AS different, count(*) AS n FROM seen "
        "GROUP BY topic, partition)"
    )
    sequences, deliveries = one(
        "SELECT total(least - different), total(n - different) FROM (SELECT max(sequence) + 1 AS "
        "least, count(DISTINCT sequence) AS different, count(*) AS n FROM seen WHERE "
        "kind = 'queue' AND sequence IS NOT NULL GROUP BY topic, conversation, side)"
    )
    [dialogs] = one("SELECT count(DISTINCT conversation) FROM seen")
    [ended] = one("SELECT count(DISTINCT conversation) FROM seen WHERE what = 'END'")
    [begun] = one("SELECT count(DISTINCT conversation) FROM begun")
    [commands] = one(
        "SELECT count(id) - count(DISTINCT id) FROM seen WHERE kind = 'cmd' AND what <> 'moved'"
    )
    malformed = sum(n for what, n in counts.what.items() if what.endswith(f": {MALFORMED}"))
    return Survey(
        counts.records, counts.body_bytes, first, last, dict(sorted(counts.topics.items())),
        dict(sorted(counts.what.items())), dict(counts.types.most_common()),
        dict(counts.errors.most_common()), dialogs, begun, ended, tuple(_flows(database)), rates,
        width, silence or 0, silent_from, int(offsets), int(sequences), int(repeated), commands,
        int(deliveries), malformed,
    )  # fmt: skip


def _rates(
    database: sqlite3.Connection, first: int | None, last: int | None
) -> tuple[tuple[int, ...], float]:
    """Return the records of each column of the chart, and its width in milliseconds."""
    if first is None or last is None:
        return (), 0.0
    width = max(last - first + 1, COLUMNS) / COLUMNS
    found = dict(
        database.execute(
            "SELECT CAST((at - ?) / ? AS INTEGER), count(*) FROM seen WHERE at >= 0 GROUP BY 1",
            (first, width),
        )
    )
    return tuple(found.get(column, 0) for column in range(COLUMNS)), width


def _flows(database: sqlite3.Connection) -> Iterator[Flow]:
    database.execute(
        "CREATE TABLE flow AS SELECT conversation, min(f) AS f, min(t) AS t, min(contract) AS "
        "contract FROM begun GROUP BY conversation"
    )
    database.execute("CREATE INDEX flow_dialog ON flow (conversation)")
    sends = {
        names: number
        for *names_, number in database.execute(
            "SELECT f, t, contract, count(*) FROM seen CROSS JOIN flow USING (conversation) "
            "WHERE what = 'SEND' GROUP BY 1, 2, 3"
        )
        for names in (tuple(names_),)
    }
    rows = database.execute(
        "SELECT f, t, contract, count(*) FROM flow GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3"
    )
    for f, t, contract, dialogs in rows:
        yield Flow(f, t, contract, dialogs, sends.get((f, t, contract), 0))
