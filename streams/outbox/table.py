"""The outbox: statements that an application has committed with its own rows.

Three parties meet in these tables. An application inserts statements in transactions of its own; a
relay takes them out in batches; and the table of relays says which batch is under way, so that who
relays next knows what to ask Kafka. Rows are taken in the order of their positions. Those of one
transaction, and of one after another, are in order by that. Of two that ran at the same time the
one with the higher positions may be seen first; neither can have waited for the other.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from streams.errors import SurroundingsError
from streams.store.database import engine_for, shown

METADATA = sa.MetaData()
"""The outbox's tables, for whoever migrates a schema; so is that of :mod:`streams.outbox.inbox`."""

BATCH, BATCH_BYTES = 500, 8_000_000
"""A batch has so many rows and bytes at most, or a single row."""

OUTBOX = sa.Table(
    "hopline_outbox",
    METADATA,
    sa.Column(
        "position",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("id", sa.String(36), nullable=False),  # the command's
    sa.Column("instance", sa.Text, nullable=False),
    sa.Column("conversation", sa.String(36), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),  # for eyes: the command says it too
    sa.Column("command", sa.LargeBinary, nullable=False),  # sb-command
    sa.Column("body", sa.LargeBinary),
    sqlite_autoincrement=True,
)

RELAY = sa.Table(
    "hopline_relay",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # one row: 1
    sa.Column("outbox", sa.String(36), nullable=False),  # this outbox among all of the cluster
    sa.Column("owner", sa.String(36)),
    sa.Column("batch", sa.String(36)),
    sa.Column("batch_at", sa.BigInteger),  # epoch seconds
    sa.Column("positions", sa.Text),  # JSON
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A row: one statement; ``command`` is its header, as it goes to Kafka."""

    id: uuid.UUID
    instance: str
    conversation: uuid.UUID
    kind: str
    command: bytes
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Batch:
    """Statements that are relayed together; ``at`` is when they were taken, in epoch seconds."""

    id: str
    at: int
    statements: tuple[Statement, ...]

    @property
    def instances(self) -> tuple[str, ...]:
        """Return to which instances something is said in it."""
        return tuple(dict.fromkeys(statement.instance for statement in self.statements))


class SupersededError(SurroundingsError):
    """Another relay works on the outbox."""


def insertion(statement: Statement) -> sa.Executable:
    """Return what an application executes in its own transaction."""
    return OUTBOX.insert().values(
        id=str(statement.id),
        instance=statement.instance,
        conversation=str(statement.conversation),
        kind=statement.kind,
        command=statement.command,
        body=statement.body,
    )


class OutboxTable:
    """The outbox of one database, as its relay sees it. One relay at a time owns it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._owner = str(uuid.uuid4())
        with self._writing() as connection:
            METADATA.create_all(connection)
        with self._writing() as connection:
            self.id = _identity(connection)

    @classmethod
    def open(cls, url: str) -> OutboxTable:
        """Open the database at an SQLAlchemy URL and make sure of the tables."""
        return cls(engine_for(url))

    @property
    def address(self) -> str:
        """Return the URL as a user may see it: without the password."""
        return shown(self._engine.url)

    def close(self) -> None:
        """Release the connections."""
        self._engine.dispose()

    def claim(self) -> Batch | None:
        """Become the owner; returns the batch that a former one has not finished."""
        with self._writing() as connection:
            connection.execute(RELAY.update().values(owner=self._owner))
            return _under_way(connection)

    def take(self, now: int, without: Iterable[str] = ()) -> Batch | None:
        """Return the batch under way, else begin one at ``now`` (epoch seconds), if there is any.

        One that begins has nothing for the instances of ``without``. Raises SupersededError where
        another relay has become the owner.
        """
        with self._writing() as connection:
            owner = connection.execute(sa.select(RELAY.c.owner).with_for_update()).scalar_one()
            if owner != self._owner:
                raise SupersededError(
                    f"Another relay works on the outbox of {self.address} by now.",
                    "Run one for each outbox.",
                )
            batch = _under_way(connection)
            if batch is None:
                positions = _next_positions(connection, without)
                if not positions:
                    return None
                said = {"batch": str(uuid.uuid4()), "batch_at": now}
                connection.execute(RELAY.update().values(positions=json.dumps(positions), **said))
                batch = _under_way(connection)
            return batch

    def finish(self, batch: Batch) -> None:
        """Delete what Kafka has confirmed; a batch that somebody else has finished stays so."""
        self._end(batch, delete=True)

    def release(self, batch: Batch) -> None:
        """Undo a batch that Kafka was not given: its rows are there for others."""
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

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise SurroundingsError(f"The outbox in {self.address} fails: {cause}.") from error


def _identity(connection: Connection) -> str:
    known = connection.execute(sa.select(RELAY.c.outbox)).scalar_one_or_none()
    if known is None:
        known = str(uuid.uuid4())
        connection.execute(RELAY.insert().values(id=1, outbox=known))
    return known


def _under_way(connection: Connection) -> Batch | None:
    row = connection.execute(sa.select(RELAY)).one()
    if row.batch is None:
        return None
    mine = OUTBOX.c.position.in_(json.loads(row.positions))
    found = connection.execute(sa.select(OUTBOX).where(mine).order_by(OUTBOX.c.position))
    statements = tuple(
        Statement(uuid.UUID(r.id), r.instance, uuid.UUID(r.conversation), r.kind, r.command, r.body)
        for r in found
    )
    return Batch(row.batch, row.batch_at, statements)


def _next_positions(connection: Connection, without: Iterable[str]) -> Sequence[int]:
    size = sa.func.coalesce(sa.func.length(OUTBOX.c.body), 0).label("size")
    rows = connection.execute(
        sa.select(OUTBOX.c.position, size)
        .where(OUTBOX.c.instance.not_in(list(without)))
        .order_by(OUTBOX.c.position)
        .limit(BATCH)
    )
    positions: list[int] = []
    total = 0
    for row in rows:
        total += row.size
        if positions and total > BATCH_BYTES:
            break
        positions.append(row.position)
    return positions
