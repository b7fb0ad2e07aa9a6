"""Open the store, write a batch into it exactly once, read rows back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from streams.errors import HoplineError, UsageError
from streams.store.acknowledged import note_acknowledged
from streams.store.database import (
    READING,
    check_encoding,
    engine_for,
    failure,
    reading_engine_for,
    shown,
)
from streams.store.freshness import ARRIVALS, QUERIES
from streams.store.kinds import KINDS, upsert
from streams.store.mapping import AnyRow, from_columns, to_columns
from streams.store.prune import prunings
from streams.store.rows import LatencyStretch, LatencyWindow, Progress, Row
from streams.store.state_rows import Sample
from streams.store.state_tables import AGES, SAMPLES
from streams.store.tables import (
    BATCHES,
    LATE,
    LATENCY,
    METADATA,
    MOST_WINDOWS,
    REACHED,
    SETTINGS,
    STRETCHES,
)


class Store:
    """The figures of one monitor, for one cluster, one topic prefix and one window length.

    Thread-safe. :meth:`write` is idempotent for two reasons: it skips a batch that is marked as
    written, and it never decreases a figure. So a restarted monitor on trimmed topics does not
    damage complete windows.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> Self:
        """Open the database at an SQLAlchemy URL and check its tables.

        Raises UsageError if a PostgreSQL database is not UTF-8, because a single name could then
        stop the monitor. If ``create`` is false, UsageError is also raised for a missing SQLite
        file.
        """
        store = cls(engine_for(url, create=create))
        try:
            with store._writing() as connection:
                check_encoding(connection)
                METADATA.create_all(connection)
        except HoplineError:
            store.close()
            raise
        return store

    @classmethod
    def look(cls, url: str) -> Self:
        """Open the database at an SQLAlchemy URL for reading; nothing is created, not even a table.

        The database may be temporarily unavailable; a call then raises SurroundingsError. Raises
        UsageError if the SQLite file is missing now.
        """
        return cls(reading_engine_for(url))

    @property
    def address(self) -> str:
        """Return the URL for users, without the password."""
        return shown(self._engine.url)

    def close(self) -> None:
        """Release the connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def claim(self, settings: Mapping[str, str]) -> None:
        """Store the parameters of the figures; raise UsageError if the stored ones differ."""
        with self._writing() as connection:
            found = connection.execute(sa.select(SETTINGS)).mappings()
            known: dict[str, str] = {row["name"]: row["value"] for row in found}
            if known:
                known.setdefault("form", "1")  # the format of a store that states none
            for name, value in settings.items():
                if name not in known:
                    connection.execute(SETTINGS.insert().values(name=name, value=value))
                elif known[name] != value:
                    raise UsageError(
                        f"The store {self.address} has different settings: "
                        f"{name} is {known[name]} there, not {value}.",
                        "Choose another store, or remove this one.",
                    )

    def settings(self) -> dict[str, str]:
        """Return the parameters that :meth:`claim` stored."""
        return {row["name"]: row["value"] for row in self.ask(sa.select(SETTINGS))}

    def window(self) -> int | None:
        """Return the length of the windows in milliseconds; None if :meth:`claim` stored none."""
        length = self.settings().get("window", "").removesuffix(" ms")
        return int(length) if length.isdigit() else None

    def write(self, query: str, run: str, batch_id: int, rows: Iterable[Row]) -> bool:
        """Write a batch and its marker in one transaction; return False if it was written before.

        ``run`` is the checkpoint: batch ids begin at 0 in each checkpoint. A row replaces a stored
        row unless its figure is smaller.
        """
        by_kind: dict[type, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            by_kind[type(row)].append(to_columns(row))
        with self._writing() as connection:
            if not _mark(connection, query, run, batch_id):
                return False
            # stretches that were merged from these windows are invalid now
            if LatencyWindow in by_kind:
                first = min(values["window_start"] for values in by_kind[LatencyWindow])
                connection.execute(STRETCHES.delete().where(STRETCHES.c.window_end > first))
            # the row must exist before it is marked as removed
            for kind in sorted(by_kind, key=list(KINDS).index):
                connection.execute(upsert(KINDS[kind], self._engine.dialect.name), by_kind[kind])
        return True

    def sample(self, rows: Iterable[Sample], *, oldest: int) -> None:
        """Write samples, or extend their validity; remove rows older than ``oldest``.

        The removed rows are outdated samples, removed dialogs, and errors.
        """
        by_kind: dict[type, list[dict[str, Any]]] = {kind: [] for kind in SAMPLES}
        for row in rows:
            by_kind[type(row)].append(to_columns(row))
        with self._writing() as connection:
            for kind, values in by_kind.items():
                if values:
                    connection.execute(upsert(KINDS[kind], self._engine.dialect.name), values)
            for column in AGES:
                connection.execute(column.table.delete().where(column < oldest))

    def add_late(
        self, query: str, run: str, batch_id: int, rows: int, *, first_at: int, until: int, at: int
    ) -> None:
        """Add the number of rows that a batch left out as too late, once per batch.

        The rows are from [first_at, until), which are epoch milliseconds, as is the batch's ``at``.
        """
        statement = (
            BATCHES.update()
            .where(BATCHES.c.query == query, BATCHES.c.run == run)
            .where(BATCHES.c.late_batch < batch_id)
            .values(late=BATCHES.c.late + rows, late_batch=batch_id)
        )
        batch = {"query": query, "run": run, "batch_id": batch_id, "rows": rows}
        times = {"first_at": min(first_at, until), "until": until, "noted_at": at}
        with self._writing() as connection:
            if connection.execute(statement).rowcount:
                connection.execute(LATE.insert().values({**batch, **times}))

    def roll(
        self,
        start: int,
        end: int,
        together: Callable[[Sequence[LatencyWindow]], Iterable[LatencyStretch]],
    ) -> None:
        """Merge the windows that begin in [start, end), while no writer can change them.

        Only the MOST_WINDOWS windows with the most messages are merged, because a frame may state
        any path.
        """
        columns = LATENCY.c
        asked = (
            sa.select(LATENCY)
            .where(columns.window_start >= start, columns.window_start < end)
            .order_by(columns["count"].desc(), columns.key)
            .limit(MOST_WINDOWS)
        )
        with self._writing() as connection:
            # SQLite takes its lock at the first write; in PostgreSQL lock the markers, which every
            # batch writes.
            connection.execute(STRETCHES.delete().where(STRETCHES.c.window_start == start))
            connection.execute(sa.select(BATCHES.c.query).with_for_update())
            found = connection.execute(asked).mappings()
            made = together([from_columns(LatencyWindow, dict(row)) for row in found])
            if rows := [to_columns(row) for row in made]:
                connection.execute(STRETCHES.insert(), rows)

    def note_acknowledged(self) -> None:
        """Store when each missing message was first known to be acknowledged."""
        with self._writing() as connection:
            connection.execute(note_acknowledged(self._engine.dialect.name))

    def prune(self, before: int) -> int:
        """Delete rows whose time is before an instant (epoch ms); return their number."""
        with self._writing() as connection:
            return sum(connection.execute(deletion).rowcount for deletion in prunings(before))

    def progress(self) -> tuple[Progress, ...]:
        """Return the progress of every query."""
        columns = [BATCHES.c[field.name] for field in fields(Progress)]
        rows = self.ask(sa.select(*columns).order_by(BATCHES.c.query, BATCHES.c.run))
        return tuple(Progress(**row) for row in rows)

    def read(
        self, kind: type[AnyRow], *, between: tuple[int, int] | None = None, **equal: str | int
    ) -> tuple[AnyRow, ...]:
        """Return the rows of a kind, sorted by their identifying columns.

        ``equal`` keeps the rows whose columns have the given values, ``between`` the rows whose
        window begins at or after the first instant and before the second.
        """
        table = KINDS[kind].table
        statement = sa.select(table).where(*(table.c[name] == equal[name] for name in equal))
        if between is not None:
            begins = table.c["window_start"]
            statement = statement.where(begins >= between[0], begins < between[1])
        order = [table.c[name] for name in KINDS[kind].identity]
        return self.select(kind, statement.order_by(*order))

    def reach(self, instants: Mapping[str, int]) -> None:
        """Store, for each of some queries, the instant (epoch ms) up to which it has read."""
        rows = [{"query": query, "at": at} for query, at in instants.items()]
        with self._writing() as connection:
            connection.execute(REACHED.delete().where(REACHED.c.query.in_(instants)))
            if rows:
                connection.execute(REACHED.insert(), rows)

    def reached(self) -> dict[str, int]:
        """Return the instant (epoch ms) up to which each query has read all records.

        A query that has not yet read all records once is left out. ARRIVALS is as described there.
        """
        rows = self.ask(sa.select(REACHED).where(REACHED.c.query.in_((*QUERIES, ARRIVALS))))
        return {row["query"]: int(row["at"]) for row in rows}

    def as_of(self) -> int | None:
        """Return the instant up to which all queries have read; None if unknown."""
        reached = self.reached()
        times = [reached[query] for query in QUERIES if query in reached]
        return min(times) if len(times) == len(QUERIES) else None

    def select(self, kind: type[AnyRow], statement: sa.Select[Any]) -> tuple[AnyRow, ...]:
        """Return the rows of a kind that a statement selects from its table."""
        return tuple(from_columns(kind, row) for row in self.ask(statement))

    def ask(self, statement: sa.Select[Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the result of a statement, by column."""
        with self._errors(), self._engine.connect() as connection:
            reading = connection.execution_options(**{READING: True})
            rows = reading.execute(statement).mappings()
            return tuple({str(name): row[name] for name in row} for row in rows)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (sa.exc.SQLAlchemyError, UnicodeError) as error:
            raise failure(f"The store {self.address}", error) from error


def _mark(connection: Connection, query: str, run: str, batch_id: int) -> bool:
    this = (BATCHES.c.query == query, BATCHES.c.run == run)
    found = sa.select(BATCHES.c.batch_id).where(*this).with_for_update()
    last = connection.execute(found).scalar_one_or_none()
    if last is None:
        marker = {"query": query, "run": run, "batch_id": batch_id, "late": 0, "late_batch": -1}
        connection.execute(BATCHES.insert().values(marker))
    elif batch_id > last:
        connection.execute(BATCHES.update().where(*this).values(batch_id=batch_id))
    return last is None or batch_id > last
