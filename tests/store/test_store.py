"""A batch is written once, whole or not at all, and figures never shrink."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection, ProgrammingError
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from streams.errors import SurroundingsError, UsageError
from streams.store import DialogSide, LatencyWindow, MalformedWindow, Progress, Row, Store, database
from streams.store.freshness import QUERIES
from streams.store.kinds import KINDS, upsert
from streams.store.late import LateRows, late_of, late_since
from streams.store.tables import METADATA
from tests.postgres import encoded_database
from tests.store.build import COPIED, EVENT, GAP, LATENCY, MALFORMED, MISSING, REPEAT, ROWS
from tests.store.build_state import DIALOG, STATE_ROWS

MADE = {kind: made for kind, made in KINDS.items() if not made.forgets}


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/deep/er/monitor.sqlite"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with Store.open(url) as store:
        yield store


@pytest.mark.parametrize("row", (*ROWS, *STATE_ROWS), ids=lambda row: type(row).__name__)
def test_a_row_is_read_as_it_was_written(store: Store, row: Row) -> None:
    assert store.write("q", "run", 0, [row])
    assert store.read(type(row)) == (row,)


def test_the_same_batch_twice_is_written_once(store: Store) -> None:
    assert store.write("q", "run", 4, ROWS)
    assert not store.write("q", "run", 4, [replace(EVENT, count=99)])
    assert not store.write("q", "run", 3, [replace(EVENT, count=99)])
    assert store.read(type(EVENT)) == (EVENT,)
    assert store.progress() == (Progress("q", "run", 4, 0),)


def test_a_locked_store_is_unavailable_and_one_without_a_table_is_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller repeats a call only if it may succeed later."""
    monkeypatch.setattr(database, "_BUSY_S", 0)
    other = sa.create_engine(store._engine.url)
    with Store.open(str(store._engine.url)) as hasty, other.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        with pytest.raises(database.UnavailableError, match="locked"):
            hasty.write("q", "run", 0, ROWS)
        connection.rollback()
        connection.exec_driver_sql("DROP TABLE batches")
        with pytest.raises(SurroundingsError, match="no such table") as caught:
            hasty.write("q", "run", 0, ROWS)
    other.dispose()
    assert not isinstance(caught.value, database.UnavailableError)


@pytest.mark.parametrize(
    ("state", "is_unavailable"), [("57P01", True), (None, True), ("40001", True), ("54000", False)]
)
def test_a_row_that_exceeds_a_limit_is_never_written_later(
    state: str | None, is_unavailable: bool
) -> None:
    cause = Exception("driver")
    cause.sqlstate = state  # type: ignore[attr-defined]
    error = database.failure("It", sa.exc.OperationalError("", None, cause))
    assert str(error) == "It failed: driver."
    assert isinstance(error, database.UnavailableError) == is_unavailable


def test_a_connection_that_the_server_has_closed_is_replaced(postgres: str) -> None:
    with Store.open(postgres) as store:
        try:
            assert store.write("closed", "run", 0, ())
            admin = sa.create_engine(postgres)
            with admin.connect() as connection:
                others = "pid <> pg_backend_pid() AND datname = current_database()"
                connection.exec_driver_sql(
                    f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}"
                )
            admin.dispose()
            assert not store.write("closed", "run", 0, ())
        finally:
            METADATA.drop_all(store._engine)


def test_a_later_batch_replaces_a_window(store: Store) -> None:
    store.write("q", "run", 0, [LATENCY])
    grown = replace(LATENCY, count=4, p50=6.0, histogram=((5.0, 2), (7.0, 1), (30.0, 1)))
    store.write("q", "run", 1, [grown])
    assert store.read(LatencyWindow) == (grown,)


def test_figures_are_as_of_what_the_slowest_query_has_read(store: Store) -> None:
    assert store.as_of() is None
    store.reach({"deliveries": 5_000, "events": 4_000, "of a version before": 1_000})
    assert store.as_of() is None, "four queries have not read everything yet"
    store.reach({**dict.fromkeys(QUERIES, 7_000), "events": 6_000})
    assert store.as_of() == 6_000


def test_a_query_that_lags_does_not_hold_back_the_others(store: Store) -> None:
    store.reach(dict.fromkeys(QUERIES, 5_000))
    store.reach({"dialogs": 9_000})
    assert store.reached() == {**dict.fromkeys(QUERIES, 5_000), "dialogs": 9_000}
    assert store.as_of() == 5_000


def test_a_crash_in_the_middle_leaves_nothing_of_the_batch(store: Store) -> None:
    def rows() -> Iterator[Row]:
        yield LATENCY
        raise RuntimeError("crash")

    with pytest.raises(RuntimeError):
        store.write("q", "run", 0, rows())
    broken = replace(MALFORMED, topic=None)  # type: ignore[arg-type]
    with pytest.raises(SurroundingsError, match="failed: "):
        store.write("q", "run", 0, [LATENCY, broken])
    assert store.read(LatencyWindow) == ()
    assert store.progress() == ()
    assert store.write("q", "run", 0, [LATENCY])


def test_a_new_checkpoint_counts_its_batches_anew(store: Store) -> None:
    store.write("q", "first", 57, [EVENT])
    assert store.write("q", "second", 0, [replace(EVENT, count=5)])
    assert store.read(type(EVENT)) == (replace(EVENT, count=5),)


@pytest.mark.parametrize(
    ("row", "smaller"),
    [
        (LATENCY, replace(LATENCY, count=1)),
        (EVENT, replace(EVENT, count=1)),
        (MALFORMED, replace(MALFORMED, count=1)),
        (REPEAT, replace(REPEAT, copies=1)),
        (MISSING, replace(MISSING, seen_at=11_500)),
        (COPIED, replace(COPIED, copies=2, retries=0)),
        (GAP, replace(GAP, count=4)),
        (DIALOG, replace(DIALOG, state="SO", position=39)),
    ],
    ids=lambda row: type(row).__name__,
)
def test_a_figure_never_shrinks(store: Store, row: Row, smaller: Row) -> None:
    store.write("q", "first", 0, [row])
    store.write("q", "second", 0, [smaller])
    assert store.read(type(row)) == (row,)


@pytest.mark.parametrize("kind", MADE)
def test_every_identifying_column_makes_a_row_of_its_own(store: Store, kind: type) -> None:
    row = next(row for row in (*ROWS, *STATE_ROWS) if type(row) is kind)
    rows: list[Row] = [row]
    for name in KINDS[kind].identity:
        value = getattr(row, name)
        other = (
            not value
            if isinstance(value, bool)
            else value + 1
            if isinstance(value, int)
            else None
            if name == "cause"
            else f"{value or ''}'x;\u00e9"
        )
        rows.append(replace(row, **{name: other}))
    store.write("q", "run", 0, rows)
    assert len(store.read(kind)) == len(rows)


def test_names_may_be_longer_than_what_an_index_holds(store: Store) -> None:
    long = replace(LATENCY, path=">".join("I" * 200 for _ in range(64)))
    store.write("q", "run", 0, [long])
    assert store.read(LatencyWindow) == (long,)


def test_late_rows_are_counted_once_per_batch(store: Store) -> None:
    store.write("q", "run", 3, [])
    store.add_late("q", "run", 2, 10, first_at=10_000, until=20_000, at=90_000)
    store.add_late("q", "run", 2, 10, first_at=10_000, until=20_000, at=90_000)
    store.add_late("q", "run", 3, 1, first_at=21_000, until=22_000, at=95_000)
    assert store.progress() == (Progress("q", "run", 3, 11),)
    first, second = (
        LateRows("q", 10, 10_000, 20_000, 90_000),
        LateRows("q", 1, 21_000, 22_000, 95_000),
    )
    assert late_since(store, 90_000) == (first, second)
    assert late_since(store, 90_001) == (second,)
    assert late_of(store, "q", 19_999, 21_000) == (first,)
    assert late_of(store, "q", 20_000, 21_001) == (second,)
    assert late_of(store, "other", 0, 100_000) == ()


def test_several_queries_write_at_once(url: str) -> None:
    def write(query: int) -> None:
        with Store.open(url) as store:
            for batch in range(20):
                topic = f"topic {query}"
                store.write(str(query), "run", batch, [replace(MALFORMED, topic=topic)])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    with Store.open(url) as store:
        assert len(store.read(MalformedWindow)) == 4
        assert {row.batch_id for row in store.progress()} == {19}


def test_a_store_belongs_to_one_monitor(store: Store) -> None:
    store.claim({"cluster": "a", "window": "10000 ms"})
    store.claim({"cluster": "a", "window": "10000 ms", "prefix": "ssb."})
    with pytest.raises(UsageError, match="form is 1 there, not 2"):
        store.claim({"cluster": "a", "form": "2"})
    with pytest.raises(UsageError, match="window is 10000 ms there, not 5000 ms"):
        store.claim({"cluster": "a", "window": "5000 ms"})
    assert store.settings() == {"cluster": "a", "window": "10000 ms", "prefix": "ssb."}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "is not a store URL"),
        ("mysql://host/name", "mysql is not supported as a store"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
    ],
)
def test_an_invalid_store_is_reported(url: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Store.open(url)


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_is_not_utf_8_is_refused(postgres: str, encoding: str) -> None:
    """Otherwise a name that it cannot contain would end the monitor, again after each restart."""
    with encoded_database(postgres, encoding) as url:
        with pytest.raises(UsageError, match=f"has the encoding {encoding}, not UTF8") as refused:
            Store.open(url)
        assert "CREATE DATABASE name ENCODING 'UTF8'" in refused.value.remedy
        engine = sa.create_engine(url, client_encoding="utf8")
        assert sa.inspect(engine).get_table_names() == []
        engine.dispose()


def test_the_encoding_of_the_client_does_not_matter(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    row = replace(EVENT, to_service="\u4e2d\U0001f600")
    with encoded_database(postgres, "UTF8") as url:
        with Store.open(f"{url}?client_encoding=latin1") as store:
            store.write("q", "run", 0, [row])
        with Store.look(url) as store:
            assert store.read(type(EVENT)) == (row,)


def test_a_text_that_cannot_be_encoded_is_reported_as_a_failure_of_the_store(store: Store) -> None:
    with pytest.raises(SurroundingsError, match=r"failed: .*surrogates not allowed"):
        store.write("q", "run", 0, [replace(EVENT, to_service="\ud800")])


def test_a_report_does_not_make_an_empty_store(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no store"):
        Store.open(f"sqlite:///{tmp_path}/none.sqlite", create=False)
    assert not list(tmp_path.iterdir())


def test_a_missing_driver_is_reported_without_the_password() -> None:
    with pytest.raises(SurroundingsError, match=r"driver for postgresql\+nosuch://u:\*\*\*@h/d"):
        Store.open("postgresql+nosuch://u:secret@h/d")


@pytest.mark.parametrize("name", ["password", "sslpassword", "sslPassword"])
def test_a_password_in_the_query_of_an_address_is_not_shown(name: str) -> None:
    with pytest.raises(SurroundingsError) as missing:
        Store.open(f"postgresql+nosuch://h/d?user=me&{name}=s3cret")
    assert "postgresql+nosuch://h/d?user=me is missing" in str(missing.value)
    assert "s3cret" not in str(missing.value)


@pytest.mark.parametrize("read", [Store.open, lambda url: Store.look(url).progress()])
def test_a_file_that_is_no_database_is_reported_and_closed(
    tmp_path: Path, read: Callable[[str], object]
) -> None:
    path = tmp_path / "text"
    path.write_text("no database, but long enough to be looked at\n" * 20)
    before = open_connections()
    with pytest.raises(SurroundingsError, match="not a database"):
        read(f"sqlite:///{path}")
    assert open_connections() <= before


def open_connections() -> set[Connection]:
    return {each for each in gc.get_objects() if type(each) is Connection and is_open(each)}


def is_open(connection: Connection) -> bool:
    try:
        return connection.in_transaction is not None
    except ProgrammingError:
        return False


@pytest.mark.parametrize("kind", MADE)
def test_postgresql_gets_statements_in_its_dialect(kind: type) -> None:
    made: Any = upsert(KINDS[kind], "postgresql")
    text = str(made.compile(dialect=postgresql.dialect()))
    assert "ON CONFLICT (key) DO UPDATE SET" in text
    assert f"WHERE excluded.{KINDS[kind].grows} >= " in text


def test_every_table_can_be_made_in_postgresql() -> None:
    for kind in KINDS.values():
        assert sa.schema.CreateTable(kind.table).compile(dialect=postgresql.dialect())


@pytest.mark.parametrize("kind", MADE)
def test_every_kind_of_row_is_pruned_by_its_time(store: Store, kind: type) -> None:
    row = next(row for row in (*ROWS, *STATE_ROWS) if type(row) is kind)
    store.write("q", "run", 0, [row])
    assert store.prune(0) == 0
    open_ = isinstance(row, DialogSide)  # as long as anything is kept of a dialog, it stays
    assert store.prune(10**15) == (0 if open_ else 1)
