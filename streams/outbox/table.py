"""The outbox: statements that an application has committed with its own rows.

Two parties use these tables: an application inserts statements in its own transactions, and a relay
removes them in batches. The table of relays contains the batch in flight, so that the next relay
knows which batch to look for in Kafka. Rows are relayed in the order of their positions. It
preserves the order of rows within one transaction, and of successive transactions. If two
transactions are concurrent, the transaction with the higher positions may be relayed first; neither
can depend on the other.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from streams.errors import SurroundingsError
from streams.outbox.rows import BATCH, Batch, Statement, positions_in, statement_of
from streams.store.database import engine_for, failure, shown
from streams.times import LATEST

METADATA = sa.MetaData()
"""The tables of the outbox and of :mod:`streams.outbox.inbox`, for schema migrations."""

BATCH_BYTES = 8_000_000
"""The maximum size of a batch in bytes, unless it is a single row."""
LARGEST = 1_000_000 + 36
"""The maximum size of a statement in bytes, with body and key.

Larger rows are left out, because Kafka does not accept larger records.
"""
LONGEST_NAME = 4_096
"""Maximum number of characters of an instance's name; longer names do not exist."""

OUTBOX = sa.Table(
    "hopline_outbox",
    METADATA,
    sa.Column(
        "position",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("id", sa.String(36), nullable=False),  # the id of the command
    sa.Column("instance", sa.Text, nullable=False),
    sa.Column("conversation", sa.String(36), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),  # for people; also in the command
    sa.Column("command", sa.LargeBinary, nullable=False),  # sb-command
    sa.Column("body", sa.LargeBinary),
    sqlite_autoincrement=True,
)

RELAY = sa.Table(
    "hopline_relay",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # 1, in the only row
    sa.Column("outbox", sa.String(36), nullable=False),  # this outbox's id, unique in the cluster
    sa.Column("owner", sa.String(36)),
    sa.Column("batch", sa.String(36)),
    sa.Column("batch_at", sa.BigInteger),  # epoch seconds
    sa.Column("positions", sa.Text),  # JSON
)


class SupersededError(SurroundingsError):
    """Another relay has taken over the outbox."""


def insertion(statement: Statement) -> sa.Executable:
    """Return the statement that an application executes in its own transaction."""
    return OUTBOX.insert().values(
        id=statement.id,
        instance=statement.instance,
        conversation=statement.conversation,
        kind=statement.kind,
        command=statement.command,
        body=statement.body,
    )


class OutboxTable:
    """The outbox of one database, for its relay. One relay at a time owns it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        if engine.dialect.name == "sqlite":
            _read_any_text(engine)
        self._owner = str(uuid.uuid4())
        with self._writing() as connection:
            METADATA.create_all(connection)
        with self._writing() as connection:
            self.id = _identity(connection)

    @classmethod
    def open(cls, url: str) -> OutboxTable:
        """Open the database at an SQLAlchemy URL and check the tables."""
        return cls(engine_for(url))

    @property
    def address(self) -> str:
        """Return the URL for users, without the password."""
        return shown(self._engine.url)

    def close(self) -> None:
        """Release the connections."""
        self._engine.dispose()

    def claim(self) -> Batch | None:
        """Become the owner; return the unfinished batch of a former owner."""
        with self._writing() as connection:
            connection.execute(RELAY.update().values(owner=self._owner))
            return self._in_flight(connection)

    def instances(self) -> Iterator[str]:
        """Yield the instances of the statements, except for names that are too long."""
        named = sa.select(OUTBOX.c.instance).distinct()
        with self._writing() as connection:
            short = named.where(sa.func.length(OUTBOX.c.instance) <= LONGEST_NAME)
            for name in connection.execute(short.execution_options(stream_results=True)).scalars():
                if isinstance(name, str):  # SQLite stores a value of any type
                    yield name

    def too_large(self) -> Sequence[int]:
        """Return the first positions of rows that are too large for Kafka; the rows remain."""
        found = sa.select(OUTBOX.c.position).where(_size(self._engine.dialect.name) > LARGEST)
        with self._writing() as connection:
            return connection.execute(found.order_by(OUTBOX.c.position).limit(10)).scalars().all()

    def take(self, now: int, only: Iterable[str] | None = None) -> Batch | None:
        """Return the batch in flight, or a new batch as of ``now`` (epoch seconds) if rows exist.

        A new batch contains statements for the instances of ``only``, or for any instance if
        ``only`` is ``None``. Raises SupersededError if another relay has become the owner.
        """
        with self._writing() as connection:
            owner = connection.execute(sa.select(RELAY.c.owner).with_for_update()).scalar_one()
            if owner != self._owner:
                raise SupersededError(
                    f"Another relay has taken over the outbox of {self.address}.",
                    "Run one relay per outbox.",
                )
            batch = self._in_flight(connection)
            if batch is None:
                positions = _next_positions(connection, only)
                if not positions:
                    return None
                said = {"batch": str(uuid.uuid4()), "batch_at": now}
                connection.execute(RELAY.update().values(positions=json.dumps(positions), **said))
                batch = self._in_flight(connection)
            return batch

    def finish(self, batch: Batch) -> None:
        """Delete the rows that Kafka has confirmed, unless another relay has finished the batch."""
        self._end(batch, delete=True)

    def release(self, batch: Batch) -> None:
        """Undo a batch that was not sent to Kafka, so that its rows are available again."""
        self._end(batch, delete=False)

    def _end(self, batch: Batch, *, delete: bool) -> None:
        this = RELAY.c.batch == batch.id
        with self._writing() as connection:
            found = sa.select(RELAY.c.positions).where(this).with_for_update()
            positions = connection.execute(found).scalar_one_or_none()
            if positions is None:
                return
            if delete:
                gone = OUTBOX.c.position.in_(json.loads(positions))
                connection.execute(OUTBOX.delete().where(gone))
            nothing = {"batch": None, "batch_at": None, "positions": None}
            connection.execute(RELAY.update().where(this).values(nothing))

    def _in_flight(self, connection: Connection) -> Batch | None:
        row = connection.execute(sa.select(RELAY)).one()
        if row.batch is None:
            return None
        try:
            positions = positions_in(row.positions)
            if type(row.batch_at) is not int or not 0 <= row.batch_at <= LATEST // 1_000:
                raise ValueError("batch_at is not a time")
        except ValueError as error:
            raise SurroundingsError(
                f"hopline_relay in {self.address} has an invalid batch in flight: {error}.",
                "First delete rows that Kafka already has (hopline tail) from hopline_outbox; "
                "then set batch, batch_at and positions there to NULL.",
            ) from error
        mine = OUTBOX.c.position.in_(positions)
        found = connection.execute(sa.select(OUTBOX).where(mine).order_by(OUTBOX.c.position))
        return Batch(str(row.batch), row.batch_at, tuple(map(statement_of, found)))

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise failure(f"The outbox in {self.address}", error) from error


def _identity(connection: Connection) -> str:
    known = connection.execute(sa.select(RELAY.c.outbox)).scalar_one_or_none()
    if known is None:
        known = str(uuid.uuid4())
        connection.execute(RELAY.insert().values(id=1, outbox=known))
    return known


def _read_any_text(engine: Engine) -> None:
    """Let connections decode invalid text without an error, because SQLite does not check text."""

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _record: object) -> None:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")


def _size(dialect: str) -> sa.ColumnElement[int]:
    """Return the size of a row's record with its key, but without the record's overhead."""

    def bytes_of(column: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
        if dialect == "sqlite":  # `octet_length` is new
            # `length` of bytes reads only their size, but of text it counts characters.
            text = sa.func.length(sa.cast(column, sa.LargeBinary))
            is_bytes = sa.func.typeof(column) == "blob"
            return sa.func.coalesce(sa.case((is_bytes, sa.func.length(column)), else_=text), 0)
        return sa.func.coalesce(sa.func.octet_length(column), 0)

    return bytes_of(OUTBOX.c.conversation) + bytes_of(OUTBOX.c.command) + bytes_of(OUTBOX.c.body)


def _next_positions(connection: Connection, only: Iterable[str] | None) -> Sequence[int]:
    size = _size(connection.dialect.name)
    rows = sa.select(OUTBOX.c.position, size.label("size"))
    if only is not None:
        rows = rows.where(OUTBOX.c.instance.in_(list(only)))
    small = rows.where(size <= LARGEST)
    positions: list[int] = []
    total = 0
    for row in connection.execute(small.order_by(OUTBOX.c.position).limit(BATCH)):
        total += row.size
        if positions and total > BATCH_BYTES:
            break
        positions.append(row.position)
    return positions
