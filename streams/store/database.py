"""Database connections: supported databases, and SQLite's settings."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError

from streams.errors import SurroundingsError, UsageError
from streams.private import make_folder

MONITOR_STORE = "sqlite:///.hopline/monitor/monitor.sqlite"
"""Default location of the monitor's database."""
READING = "hopline_reading"
"""Execution option of a read-only connection."""

_BACKENDS = ("sqlite", "postgresql")
_ENCODING = "UTF8"
_BUSY_S = 30
_CONNECT_S = 5
_LIMIT_EXCEEDED = "54"
"""PostgreSQL's class of errors about a statement or a row that exceeds a limit."""


class UnavailableError(SurroundingsError):
    """A database does not respond or is locked; the same call may succeed later."""


def engine_for(
    url: str, *, create: bool = True, remedy: str = "The monitor creates one: hopline monitor."
) -> Engine:
    """Return an engine for an SQLAlchemy URL of SQLite or PostgreSQL.

    If ``create`` is false, raise UsageError with ``remedy`` if there is no SQLite file.
    """
    address = _address(url)
    if address.get_backend_name() != "sqlite":
        return _server_engine(address)
    _prepare_file(address, create, remedy)
    engine = _engine(address, connect_args={"timeout": _BUSY_S})
    _set_up_sqlite(engine)

    @sa.event.listens_for(engine, "do_connect")
    def connect(dialect: Any, _record: object, words: Any, options: Any) -> sqlite3.Connection:
        return _probed(dialect.connect(*words, **options))

    return engine


def reading_engine_for(url: str) -> Engine:
    """Return a read-only engine for a database that may be temporarily unavailable.

    Creates no file or table; raises UsageError if the SQLite file is missing now. If the file is
    removed later, connections fail.
    """
    address = _address(url)
    if address.get_backend_name() != "sqlite":
        return _server_engine(address)
    _prepare_file(address, False, "The monitor creates one: hopline monitor.")
    file = Path(str(address.database)).absolute()

    def connect() -> sqlite3.Connection:
        # A killed writer's unfinished transaction can only be undone with write access ("rw").
        connection = sqlite3.connect(f"file:{quote(str(file))}?mode=rw", uri=True, timeout=_BUSY_S)
        connection.execute("PRAGMA query_only = on")
        return _probed(connection)

    # A pooled connection would continue to read a deleted file.
    engine = _engine(address, creator=connect, poolclass=sa.pool.NullPool)
    _set_up_sqlite(engine)
    return engine


def failure(what: str, error: Exception) -> SurroundingsError:
    """Return the error to raise if a database fails, with the driver's message."""
    cause = getattr(error, "orig", None) or error
    later = isinstance(error, sa.exc.OperationalError) and not _is_permanent(cause)
    kind = UnavailableError if later else SurroundingsError
    return kind(f"{what} failed: {cause}.")


def _is_permanent(cause: object) -> bool:
    """Return whether the statement is the cause, for example because its table is missing."""
    if isinstance(cause, sqlite3.Error):
        return cause.sqlite_errorcode == sqlite3.SQLITE_ERROR
    return str(getattr(cause, "sqlstate", None) or "").startswith(_LIMIT_EXCEEDED)


def check_encoding(connection: Connection) -> None:
    """Raise UsageError if the database cannot contain every character."""
    if connection.dialect.name == "sqlite":
        return
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != _ENCODING:
        raise UsageError(
            f"The database {shown(connection.engine.url)} has the encoding {encoding}, "
            f"not {_ENCODING}.",
            f"Create another database: CREATE DATABASE name ENCODING '{_ENCODING}' "
            "TEMPLATE template0.",
        )


def shown(url: URL) -> str:
    """Return an address for users, without passwords; libpq also accepts them in the query."""
    secret = [name for name in url.query if "password" in name.lower()]
    return url.difference_update_query(secret).render_as_string(hide_password=True)


def _without_password(text: str) -> str:
    """Return an invalid address without the parts that may be a password."""
    before, at, host = text.rpartition("@")
    scheme, slashes, _ = (before or text).partition("//")
    if "?" in text:
        at, host = "@", "***"
    return f"{scheme if slashes else ''}{slashes}***@{host}" if at else text


def _address(url: str) -> URL:
    try:
        address = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise UsageError(
            f"{_without_password(url)!r} is not a store URL.",
            "For example sqlite:///monitor.sqlite.",
        ) from error
    if address.get_backend_name() not in _BACKENDS:
        raise UsageError(
            f"{address.get_backend_name()} is not supported as a store.",
            "Use SQLite (sqlite:///FILE) or PostgreSQL (postgresql+psycopg://...).",
        )
    if address.get_backend_name() == "sqlite" and address.database in (None, "", ":memory:"):
        raise UsageError("A store needs a file.", "For example sqlite:///monitor.sqlite.")
    return address


def _server_engine(address: URL) -> Engine:
    """Return an engine for PostgreSQL; the ping replaces connections that a restart has closed."""
    stated = "connect_timeout" in address.query
    patience = {} if stated else {"connect_timeout": _CONNECT_S}
    return _engine(address, client_encoding=_ENCODING, pool_pre_ping=True, connect_args=patience)


def _engine(address: URL, **options: Any) -> Engine:
    try:
        return sa.create_engine(address, **options)
    except (ModuleNotFoundError, sa.exc.NoSuchModuleError) as error:
        raise SurroundingsError(
            f"The driver for {shown(address)} is missing: {error}.",
            "Install it, for example with pip install 'psycopg[binary]', or use SQLite.",
        ) from error


def _prepare_file(address: URL, create: bool, remedy: str) -> None:
    file = Path(str(address.database))
    if create:
        make_folder(file.parent)
    elif not file.is_file():
        raise UsageError(f"There is no store {file}.", remedy)


def _probed(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection whose file can be read as a database, or close it and raise the error.

    If SQLAlchemy's first statement fails, it leaves the new connection open.
    """
    try:
        connection.execute("PRAGMA schema_version")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _set_up_sqlite(engine: Engine) -> None:
    """Start transactions explicitly, and let writers wait for each other.

    If two deferred transactions both read first and then write, one fails immediately, without
    waiting, so every writer takes the lock at its start. There is no write-ahead log, because
    switching to it also fails without waiting if several processes open a new file.
    """

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # otherwise the driver would begin transactions itself

    @sa.event.listens_for(engine, "begin")
    def begin_transaction(connection: Connection) -> None:
        reading = connection.get_execution_options().get(READING)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")
