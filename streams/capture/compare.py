"""Compare a replay with the captured run, message by message, and with a forecast.

A message is identified by a side of a dialog and the message's number on that side. Data is kept in
a temporary database, so memory grows with the dialogs and not with the messages.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from streams.capture.arrivals import Arrived, CopyEvent, Found, RefusedStatement
from streams.capture.forecast import Side
from streams.errors import CopyOutcome
from streams.errors.refusals import Refusals

__all__ = ["Comparison", "Differing", "Latency", "Ledger"]

LISTED = 1_000
"""Maximum number of dialogs listed; all dialogs are counted."""
_BATCH = 5_000
_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE dialog (n INTEGER PRIMARY KEY, o INTEGER, original TEXT, replayed TEXT);
CREATE TABLE side (n INTEGER, initiator INTEGER, sent INTEGER, places TEXT);
CREATE TABLE was (o INTEGER, initiator INTEGER, sequence INTEGER, place TEXT, way TEXT, ms INTEGER);
CREATE TABLE now (n INTEGER, initiator INTEGER, sequence INTEGER, place TEXT, way TEXT, ms INTEGER);
"""
_MESSAGES = """
CREATE INDEX was_message ON was (o, initiator, sequence);
CREATE INDEX now_message ON now (n, initiator, sequence);
CREATE TABLE was1 AS SELECT o, initiator, sequence, min(place) AS place, min(way) AS way
    FROM was GROUP BY 1, 2, 3;
CREATE TABLE now1 AS SELECT n, initiator, sequence, min(place) AS place, min(way) AS way
    FROM now GROUP BY 1, 2, 3;
CREATE UNIQUE INDEX was1_message ON was1 (o, initiator, sequence);
CREATE UNIQUE INDEX now1_message ON now1 (n, initiator, sequence);
CREATE TABLE numbers AS
    WITH RECURSIVE k(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM k
        WHERE k + 1 < (SELECT coalesce(max(sent), 0) FROM side)) SELECT k FROM k;
CREATE TABLE message AS
    SELECT d.n AS n, s.initiator AS initiator, k.k AS sequence, s.places AS places,
        a.place AS was, a.way AS was_way, b.place AS now, b.way AS now_way
    FROM side s JOIN dialog d ON d.n = s.n JOIN numbers k ON k.k < s.sent
    LEFT JOIN was1 a ON a.o = d.o AND a.initiator = s.initiator AND a.sequence = k.k
    LEFT JOIN now1 b ON b.n = d.n AND b.initiator = s.initiator AND b.sequence = k.k;
"""
_OUTCOME = """CASE
    WHEN was IS NULL AND now IS NULL THEN 'neither'
    WHEN was IS NULL THEN 'begins' WHEN now IS NULL THEN 'stops'
    WHEN was <> now THEN 'moves' WHEN was_way <> now_way THEN 'way' ELSE 'same' END"""
_FORETOLD = """CASE
    WHEN places IS NULL THEN 'unknown'
    WHEN now IS NULL THEN iif(places = '[]', 'as', 'other')
    ELSE iif(EXISTS (SELECT 1 FROM json_each(places) WHERE value = now), 'as', 'other') END"""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from command to queue; all values are 0 without arrivals."""

    p50: int = 0
    p95: int = 0
    p99: int = 0
    max: int = 0


@dataclass(frozen=True, slots=True)
class Differing:
    """A side of a dialog with different outcomes, and the number of messages of each kind."""

    original: str
    replayed: str
    from_initiator: bool
    outcomes: dict[str, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A replay compared with the captured run.

    ``outcomes`` counts messages: ``same``; ``moves``: to another database; ``way``: to the same
    database on another path; ``stops``: arrived only in the capture; ``begins``: arrived only in
    the replay; ``neither``. ``foretold`` counts messages by the prediction of the routing core
    (``as``, ``other``, ``unknown``). ``original``: the capture contains the outcome of its run;
    otherwise no comparison is possible. ``twice`` counts messages that are in a queue twice.
    ``copies`` and ``copies_before`` are events by subject and error number; ``refused`` and
    ``refused_before`` count rejected statements. ``trimmed`` contains the queues that may have
    contained more messages.
    """

    messages: int
    arrived: int
    original: bool
    outcomes: dict[str, int]
    foretold: dict[str, int]
    latency: Latency
    latency_before: Latency
    twice: int
    twice_before: int
    copies: dict[str, dict[int, int]]
    copies_before: dict[str, dict[int, int]]
    dialogs: tuple[Differing, ...] = ()
    settled: bool = True
    trimmed: tuple[str, ...] = ()
    refused: Refusals = field(default_factory=Refusals)
    refused_before: Refusals = field(default_factory=Refusals)

    @property
    def differences(self) -> int:
        """Return the number of messages whose outcome differs from the original run."""
        return sum(self.outcomes.get(name, 0) for name in ("moves", "way", "stops", "begins"))

    @property
    def good(self) -> bool:
        """Return whether all outcomes match the original and the prediction, each exactly once."""
        return not (self.differences or self.foretold.get("other") or self.twice)


@dataclass(slots=True)
class Ledger:
    """Collect both runs; :meth:`compare` returns the result. A context manager."""

    wanted: int = 0
    """Number of expected messages: those predicted, or all messages if there is no prediction."""
    arrived: int = 0
    """Messages of the replay that were found in a queue, each counted once."""
    _database: sqlite3.Connection = field(init=False)
    _replayed: dict[str, int] = field(default_factory=dict)
    _original: dict[str, int] = field(default_factory=dict)
    _rows: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    _copies: tuple[Counter[tuple[CopyOutcome, int]], Counter[tuple[CopyOutcome, int]]] = field(
        default_factory=lambda: (Counter(), Counter())
    )
    _refusals: tuple[Refusals, Refusals] = field(default_factory=lambda: (Refusals(), Refusals()))
    _original_arrived: bool = False

    def __enter__(self) -> Ledger:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.executescript(_TABLES)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._database.close()

    def expect(self, side: Side) -> None:
        """Add one side of a dialog of the replay; unreadable commands have no dialog."""
        if not side.original:
            return
        self.wanted += side.messages if side.places != () else 0
        places = None if side.places is None else json.dumps(side.places)
        n = self.add_dialog(side.original, side.replayed)
        self._keep("side", (n, side.from_initiator, side.messages, places))

    def add_dialog(self, original: str, replayed: str) -> int:
        """Add a dialog, even without messages, because its statements may be rejected."""
        n = self._replayed.get(replayed)
        if n is None:
            n = self._replayed[replayed] = len(self._replayed)
            o = self._original.setdefault(original, len(self._original))
            self._keep("dialog", (n, o, original, replayed))
        return n

    def was(self, found: Found) -> None:
        """Add an arrival or event of the original run, from the capture."""
        known = self._original.get(found.conversation)
        if known is not None:
            self._take("was", known, found)
            self._original_arrived |= isinstance(found, Arrived)

    def is_now(self, found: Found, began: int) -> None:
        """Add an arrival or event from Kafka, unless it is earlier than ``began`` (epoch ms)."""
        known = self._replayed.get(found.conversation)
        at = found.enqueued_at if isinstance(found, Arrived) else found.at
        if known is not None and at >= began:
            self._take("now", known, found)
            self.arrived += isinstance(found, Arrived)

    def _take(self, table: str, number: int, found: Found) -> None:
        if isinstance(found, RefusedStatement):
            self._refusals[table == "now"].note(found.error, found.refusal)
            return
        if isinstance(found, CopyEvent):
            self._copies[table == "now"][found.what, found.error] += 1
            return
        about = number, found.from_initiator, found.sequence
        self._keep(table, (*about, found.place, found.path, found.ms))

    def _keep(self, table: str, row: tuple[Any, ...]) -> None:
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= _BATCH:
            self._flush(table)

    def _flush(self, table: str) -> None:
        rows = self._rows.pop(table, [])
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            self._database.execute("BEGIN")
            self._database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            self._database.execute("COMMIT")

    @property
    def complete(self) -> bool:
        """Return whether all expected messages have arrived."""
        if self.arrived < self.wanted:
            return False
        self._flush("now")
        distinct = "SELECT count(*) FROM (SELECT DISTINCT n, initiator, sequence FROM now)"
        [found] = self._database.execute(distinct).fetchone()
        return int(found) >= self.wanted

    def compare(self, *, settled: bool, trimmed: tuple[str, ...] = ()) -> Comparison:
        """Return the differences between both runs; ``settled``: nothing more is expected."""
        for table in list(self._rows):
            self._flush(table)
        self._database.executescript(_MESSAGES)
        [messages] = self._one("SELECT count(*) FROM message")
        [arrived] = self._one("SELECT count(now) FROM message")
        was = self._original_arrived
        return Comparison(
            messages, arrived, was, self._counted(_OUTCOME) if was else {},
            self._counted(_FORETOLD), self._latency("now"), self._latency("was"),
            self._twice("now1", "now"), self._twice("was1", "was"),
            _by_error(self._copies[True]), _by_error(self._copies[False]),
            self._differing() if was else (), settled, trimmed, self._refusals[True],
            self._refusals[False],
        )  # fmt: skip

    def _one(self, question: str, *values: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self._database.execute(question, values).fetchone()
        return found

    def _counted(self, outcome: str) -> dict[str, int]:
        return dict(self._database.execute(f"SELECT {outcome}, count(*) FROM message GROUP BY 1"))

    def _latency(self, table: str) -> Latency:
        [count] = self._one(f"SELECT count(*) FROM {table}")
        if not count:
            return Latency()
        self._database.execute(f"CREATE INDEX {table}_ms ON {table} (ms)")
        rank = f"SELECT ms FROM {table} ORDER BY ms LIMIT 1 OFFSET ?"
        ranks = (min(int(count * share), count - 1) for share in (0.5, 0.95, 0.99, 1.0))
        return Latency(*(self._one(rank, n)[0] for n in ranks))

    def _twice(self, once: str, all_: str) -> int:
        [found] = self._one(f"SELECT (SELECT count(*) FROM {all_}) - (SELECT count(*) FROM {once})")
        return int(found)

    def _differing(self) -> tuple[Differing, ...]:
        rows = self._database.execute(
            f"SELECT original, replayed, initiator, {_OUTCOME} AS outcome, count(*) FROM message "
            "JOIN dialog USING (n) WHERE outcome NOT IN ('same', 'neither') "
            "GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4"
        )
        found: dict[tuple[str, str, bool], dict[str, int]] = {}
        for original, replayed, initiator, outcome, count in rows:
            key = original, replayed, bool(initiator)
            if key not in found and len(found) == LISTED:
                break
            found.setdefault(key, {})[outcome] = count
        return tuple(Differing(*key, outcomes) for key, outcomes in found.items())


def _by_error(counts: Counter[tuple[CopyOutcome, int]]) -> dict[str, dict[int, int]]:
    found: dict[str, dict[int, int]] = {}
    for (what, error), number in sorted(counts.items(), key=lambda item: (item[0][0].value, item)):
        found.setdefault(what.value, {})[error] = number
    return found
