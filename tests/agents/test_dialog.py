"""What a handler says follows from the message alone, and is handed over in order."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from streams.agents import Dialog
from streams.agents.dialog import NotConfirmedError, Saying
from streams.client import Conversation, StatementError
from streams.protocol import SECRET_BYTES, Cause, Command, CommandKind, Source, StatementIds
from streams.wire.partition import partition_of
from streams.wire.records import LARGEST_BODY, Wire, read_command

SOURCE = Source("shop", "//shop/OrderService", uuid.UUID(int=7), 0)
SECRET, ANOTHER = bytes(range(SECRET_BYTES)), bytes(SECRET_BYTES)
MINE = Conversation("ServerB", "DatabaseB", uuid.UUID(int=1), False)


class Taking:
    """Stands for Kafka: takes so many commands, and then no more."""

    def __init__(self, most: int = 100) -> None:
        self.taken: list[Command] = []
        self._most = most

    async def __call__(self, record: Wire) -> None:
        if len(self.taken) == self._most:
            raise NotConfirmedError("no", "")
        self.taken.append(read_command(*record, stored_at=0))


def dialog(
    kafka: Taking, offset: int = 5, partitions: int = 1, *, secret: bytes = SECRET
) -> Dialog:
    ids = StatementIds(secret)
    saying = Saying(Cause(SOURCE, offset), ids, lambda id: partition_of(id, partitions), kafka)
    return Dialog(MINE, saying, "//shop/OrderService", "//shop/OrderContract", confirmed=True)


async def handler(mine: Dialog) -> None:
    """Say one of each."""
    await mine.send(b"a", type="A")
    asked = await mine.begin("//shop/StockService")
    await asked.send(b"b")
    await mine.timer(60)
    await mine.move(uuid.UUID(int=9))
    await mine.on(uuid.UUID(int=2), is_initiator=True).end(cleanup=True)
    await mine.end(error=(42, "no"))


def said(offset: int = 5, partitions: int = 1, secret: bytes = SECRET) -> list[Command]:
    kafka = Taking()

    async def run() -> None:
        mine = dialog(kafka, offset, partitions, secret=secret)
        await handler(mine)
        assert kafka.taken == [], "nothing counts before it is committed"
        await mine.commit()

    asyncio.run(run())
    return kafka.taken


def without_moment(commands: list[Command]) -> list[tuple[object, ...]]:
    return [
        (c.command_id, c.conversation, c.kind, c.from_initiator, c.body, c.cause) for c in commands
    ]


def test_the_same_message_says_the_same() -> None:
    first, again, other = said(), said(), said(offset=6)
    assert without_moment(first) == without_moment(again)
    assert not {c.command_id for c in first} & {c.command_id for c in other}
    assert first[1].conversation != other[1].conversation


def test_statements_are_numbered_in_their_order() -> None:
    commands = said()
    assert [c.cause for c in commands] == [Cause(SOURCE, 5, n) for n in range(7)]
    ids = StatementIds(SECRET)
    assert [c.command_id for c in commands] == [ids.command(Cause(SOURCE, 5, n)) for n in range(7)]
    kinds = [CommandKind.SEND, CommandKind.BEGIN, CommandKind.SEND, CommandKind.TIMER]
    assert [c.kind for c in commands] == [*kinds, CommandKind.MOVE, *[CommandKind.END] * 2]


def test_a_dialog_that_it_begins_is_related_and_of_its_contract() -> None:
    begin, send = said()[1:3]
    assert (begin.related, begin.contract) == (MINE.id, "//shop/OrderContract")
    assert (begin.from_service, begin.to_service) == ("//shop/OrderService", "//shop/StockService")
    assert begin.conversation == send.conversation
    assert begin.from_initiator and send.from_initiator and not said()[0].from_initiator


@pytest.mark.parametrize("offset", range(8))
def test_a_related_dialog_lives_in_the_same_partition(offset: int) -> None:
    """An endpoint worker knows the conversation groups of its own partition only."""
    begin = said(offset, partitions=12)[1]
    assert partition_of(begin.conversation, 12) == partition_of(MINE.id, 12)


def test_no_id_follows_from_facts_that_others_know() -> None:
    """Otherwise another application could occupy the id of a dialog before it begins."""
    commands = said()
    public = {Cause(SOURCE, 5, n).public_id for n in range(7)}
    computed = {
        uuid.uuid5(id, "conversation") for id in (*public, *(c.command_id for c in commands))
    }
    assert not {c.command_id for c in commands} & public
    assert commands[1].conversation not in computed
    assert {c.command_id.version for c in commands} == {commands[1].conversation.version} == {4}


def test_another_secret_gives_other_ids() -> None:
    first, other = said(), said(secret=ANOTHER)
    assert not {c.command_id for c in first} & {c.command_id for c in other}
    assert first[1].conversation != other[1].conversation


@pytest.mark.parametrize("offset", range(8))
def test_a_dialog_is_begun_in_the_same_partition_with_any_secret(offset: int) -> None:
    """There the endpoint worker knows the cause, so that it skips a repeated BEGIN."""

    async def begun(secret: bytes) -> uuid.UUID:
        return (await dialog(Taking(), offset, 12, secret=secret).begin("S", related=False)).id

    first, other = (asyncio.run(begun(secret)) for secret in (SECRET, ANOTHER))
    assert first != other
    before = Cause(SOURCE, offset).public_conversation  # of versions without secrets
    assert len({partition_of(id, 12) for id in (first, other, before)}) == 1


def test_no_text_contains_the_secret() -> None:
    ids = StatementIds(SECRET)
    saying = Saying(Cause(SOURCE, 0), ids, lambda _: 0, Taking())
    for text in (repr(ids), repr(saying), str(vars(dialog(Taking())))):
        assert repr(SECRET)[2:-1] not in text and SECRET.hex() not in text
    for wrong in (b"", bytes(31), bytes(33)):
        with pytest.raises(ValueError, match="must have 32 bytes"):
            StatementIds(wrong)


def test_what_is_not_taken_keeps_back_what_comes_behind_it() -> None:
    kafka = Taking(most=2)

    async def run() -> None:
        mine = dialog(kafka)
        await handler(mine)
        with pytest.raises(NotConfirmedError):
            await mine.commit()

    asyncio.run(run())
    assert [c.cause for c in kafka.taken] == [Cause(SOURCE, 5, n) for n in range(2)]


def test_what_was_committed_on_the_way_is_not_said_again_by_the_next_commit() -> None:
    kafka = Taking()

    async def run() -> None:
        mine = dialog(kafka)
        await mine.send(b"a")
        await mine.commit()
        await mine.send(b"b")
        await mine.commit()

    asyncio.run(run())
    assert [(c.body, c.cause) for c in kafka.taken] == [
        (b"a", Cause(SOURCE, 5, 0)),
        (b"b", Cause(SOURCE, 5, 1)),
    ]


def test_a_body_that_is_too_large_is_refused_at_once() -> None:
    with pytest.raises(StatementError, match="8459"):
        asyncio.run(dialog(Taking()).send(bytes(LARGEST_BODY + 1)))


def test_a_refused_statement_does_not_count() -> None:
    """A handler may catch the error, and then issues the next statement in its place."""
    kafka = Taking()

    async def run() -> None:
        mine = dialog(kafka)
        with pytest.raises(UnicodeEncodeError):
            await mine.end(error=(1, "\ud800"))
        await mine.end(error=(1, "?"))
        await mine.commit()

    asyncio.run(run())
    assert [(c.error_text, c.cause) for c in kafka.taken] == [("?", Cause(SOURCE, 5, 0))]
