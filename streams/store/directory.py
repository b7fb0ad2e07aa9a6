"""A directory of services in a database: a table or a view, which is only read."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from streams.errors import SurroundingsError
from streams.prose import clipped
from streams.store.database import READING, engine_for, shown
from streams.topology import Offer, Source
from streams.topology.offers import OFFER_LIFETIME

log = logging.getLogger("hopline.notice")

_NULL = type(None)
_COLUMNS: dict[str, tuple[type, ...]] = {
    "service_name": (str,),
    "broker_instance": (str, _NULL),
    "address": (str, _NULL),
    "mirror_address": (str, _NULL),
    "lifetime": (int, _NULL),  # seconds
}
"""The columns, each with the types of its valid values. Rows are checked, because the table may be
a view whose columns have any type."""
DIRECTORY = sa.table("hopline_directory", *map(sa.column, _COLUMNS))
_REMEDY = "docs/writing_a_service.md has the definition of a directory's table."
_LONGEST_REASON = 300
"""Maximum length in characters of a reason in the log; a driver may quote the requested name."""


class SqlDirectory:
    """The directory in the database at an SQLAlchemy URL, queried for each service."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        if engine.dialect.name == "sqlite":
            _read_any_text(engine)

    @classmethod
    def open(cls, url: str) -> SqlDirectory:
        """Return the directory at a URL; raise UsageError if it is invalid."""
        return cls(engine_for(url, create=False, remedy=_REMEDY))

    @property
    def address(self) -> str:
        """Return the URL for users, without the password."""
        return shown(self._engine.url)

    def find(self, service: str) -> tuple[Offer, ...]:
        """Return a service's entry; raises SurroundingsError if the database is unavailable.

        A name that the database refuses, for example because its encoding lacks a character, has
        no entry: the same query would be refused again. An error in a view's own data looks the
        same, so each refusal is logged.
        """
        wanted = DIRECTORY.select().where(DIRECTORY.c.service_name == service)
        with self._errors():
            try:
                return self._read(wanted)
            except (sa.exc.DataError, UnicodeError) as error:
                reason = clipped(_reason(error), _LONGEST_REASON)
                log.warning("%s: no entry for %s: %s", self.address, clipped(repr(service)), reason)
                return ()

    def all(self) -> tuple[Offer, ...]:
        """Return all entries; raises SurroundingsError if the database is unavailable."""
        with self._errors():
            return self._read(DIRECTORY.select().order_by(DIRECTORY.c.service_name))

    def _read(self, wanted: sa.Select[Any]) -> tuple[Offer, ...]:
        try:
            with self._engine.connect().execution_options(**{READING: True}) as connection:
                return tuple(self._offer(row) for row in connection.execute(wanted))
        finally:
            self._engine.dispose()  # queries are rare, and a pooled connection would go stale

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            raise SurroundingsError(
                f"The directory in {self.address} cannot be read: {_reason(error)}.", _REMEDY
            ) from error

    def _offer(self, row: Any) -> Offer:
        """Return the offer in a row; values of wrong types become the offer's ``mistake``."""
        service, broker, address, mirror, lifetime = row
        source = Source(f"{DIRECTORY.name} in {self.address}")
        if mistake := _mistake(row):
            named = service if isinstance(service, str) else clipped(repr(service))
            return Offer(named, "", source=source, mistake=mistake)
        seconds = OFFER_LIFETIME if lifetime is None else lifetime
        return Offer(service, address or "", broker, mirror, seconds, source)


def _read_any_text(engine: Engine) -> None:
    """Let connections return invalid text as bytes, because SQLite does not check text."""

    def decoded(raw: bytes) -> str | bytes:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        connection.text_factory = decoded


def _mistake(row: Any) -> str:
    """Return which columns have values of wrong types."""
    values = row._asdict()
    wrong = [name for name, types in _COLUMNS.items() if type(values[name]) not in types]
    return ", ".join(f"{name} has the type {type(values[name]).__name__}" for name in wrong)


def _reason(error: Exception) -> str:
    """Return the driver's message in one line."""
    return " ".join(str(getattr(error, "orig", None) or error).split())
