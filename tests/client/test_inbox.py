"""The inbox: a message is dealt with once, in one transaction with the application's own rows."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session

from streams.client import Conversation, Received
from streams.client.inbox import METADATA, Inbox
from streams.client.outbox import METADATA as OUTBOX_METADATA
from streams.client.outbox import Outbox
from streams.outbox import table as outbox_module
from streams.outbox.inbox import INBOX
from streams.outbox.table import OutboxTable
from streams.protocol import Flag, Header, Journey, Message, Parties
from tests.running import DEADLINE, eventually
from tests.workers.rig import pause

HERE = Conversation("ServerB", "DatabaseB", uuid.UUID(int=1), is_initiator=False)


@pytest.fixture
def engine(application_database: str) -> Iterator[Engine]:
    engine = sa.create_engine(application_database)
    for metadata in (METADATA, OUTBOX_METADATA):
        metadata.create_all(engine)
    yield engine
    for metadata in (METADATA, OUTBOX_METADATA):
        metadata.drop_all(engine)
    engine.dispose()


def message(
    sequence: int = 0, identity: int = 1, on: Conversation = HERE, flags: Flag = Flag.NONE
) -> Received:
    parties = Parties("To", "B", "From", "A", "DEFAULT", from_initiator=not on.is_initiator)
    header = Header(uuid.UUID(int=identity), "DEFAULT", sequence, 0, 0, flags)
    return Received(on, Message(on.id, parties, header, Journey(1, 0, 0, 0, 0), b""), 0, 0)


def is_new(engine: Engine, each: Received, reader: str = "") -> bool:
    with engine.begin() as connection:
        return Inbox(connection, reader).is_new(each)


def test_a_message_is_new_once(engine: Engine) -> None:
    assert [is_new(engine, message()) for _ in range(3)] == [True, False, False]


def test_what_was_rolled_back_is_still_new(engine: Engine) -> None:
    with engine.connect() as connection:
        assert Inbox(connection).is_new(message())
        connection.rollback()
    assert is_new(engine, message())


@pytest.mark.parametrize(
    "other",
    [
        message(sequence=1),
        message(identity=2, flags=Flag.UNSEQUENCED),  # an Error, say, beside message 0
        message(on=Conversation("ServerB", "DatabaseB", uuid.UUID(int=2), is_initiator=False)),
        message(on=Conversation("ServerB", "DatabaseB", uuid.UUID(int=1), is_initiator=True)),
    ],
    ids=["the next", "one without a number", "of another dialog", "of the other side"],
)
def test_another_message_is_new(engine: Engine, other: Received) -> None:
    assert is_new(engine, message())
    assert is_new(engine, other)


def test_readers_do_not_hide_messages_from_each_other(engine: Engine) -> None:
    assert is_new(engine, message(), "billing")
    assert is_new(engine, message(), "audit")


def test_an_orm_session_will_do(engine: Engine) -> None:
    with Session(engine) as session, session.begin():
        assert Inbox(session).is_new(message())
        assert not Inbox(session).is_new(message())
        Outbox(session).send(HERE, b"answer")
    with engine.connect() as connection:
        [row] = connection.execute(sa.select(outbox_module.OUTBOX)).all()
    assert (row.instance, row.kind, row.body) == ("ServerB", "SEND", b"answer")


def test_what_is_old_is_forgotten(engine: Engine) -> None:
    assert is_new(engine, message(0, 1))
    with engine.begin() as connection:
        connection.execute(INBOX.update().values(received_at=INBOX.c.received_at - 8 * 86_400))
        assert Inbox(connection).is_new(message(1, 2))
        assert (Inbox(connection, "another").forget(), Inbox(connection).forget()) == (0, 1)
        assert Inbox(connection).forget() == 0
    assert is_new(engine, message(0, 1))


def test_two_that_deal_with_a_message_at_once_wait_for_each_other(postgres: str) -> None:
    """The second learns how the first one ended: by a rollback, so it is the second's."""
    engine = sa.create_engine(postgres)
    METADATA.create_all(engine)
    answers: list[bool] = []
    try:
        with engine.connect() as first:
            assert Inbox(first).is_new(message())
            second = threading.Thread(target=lambda: answers.append(is_new(engine, message())))
            second.start()
            _until_somebody_waits(engine)
            assert not answers
            first.rollback()
        second.join(DEADLINE)
        assert answers == [True]
    finally:
        METADATA.drop_all(engine)
        engine.dispose()


def _until_somebody_waits(engine: Engine) -> None:
    waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")

    def somebody_waits() -> bool:
        with engine.connect() as connection:
            return bool(connection.execute(waiting).scalar()) or pause()

    eventually(somebody_waits, "the second one waits")


# --- the outbox, as both databases have it -------------------------------------------------------


def test_the_relay_sees_committed_statements_only_and_in_order(
    engine: Engine, application_database: str
) -> None:
    table = OutboxTable.open(application_database)
    table.claim()
    with engine.connect() as connection:
        for number in range(3):
            Outbox(connection).send(HERE, b"%d" % number)
        if engine.dialect.name == "postgresql":  # SQLite's writers wait for each other
            assert table.take(0) is None
        connection.commit()
    batch = table.take(0)
    assert batch is not None
    assert [s.body for s in batch.statements] == [b"0", b"1", b"2"]
    again = OutboxTable.open(application_database)
    assert again.id == table.id
    assert again.claim() == batch
    again.finish(batch)
    table.finish(batch)  # who comes late changes nothing
    assert again.take(0) is None
    for each in (table, again):
        each.close()
