"""A record that states the offset of another conversation's body is not taken for this body."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from streams.kafka import create
from streams.node import Moves
from streams.protocol import Command, CommandKind
from streams.wire import Topics
from streams.wire.records import COMMAND, command_record, key_of
from streams.wire.specs import TopicSpec
from streams.workers.endpoint.bodies import Bodies
from tests.kafka.raw_batch import append, batch, disguised, record
from tests.workers.rig import HookedCluster

D1, D2, D3 = (uuid.UUID(int=number) for number in (1, 2, 3))


def send(dialog: uuid.UUID, body: bytes, *also: uuid.UUID) -> Command:
    return Command(dialog, uuid.uuid4(), CommandKind.SEND, "DatabaseA", body=body, also=also)


def parts(command: Command) -> dict[str, Any]:
    """Return a statement's key, value and headers, as raw records have them."""
    key, value, headers = command_record(command)
    return {"key": key, "value": value, "headers": [(n.encode(), raw) for n, raw in headers]}


def honest(command: Command) -> bytes:
    return batch(record(0, **parts(command)))


def malformed(dialog: uuid.UUID) -> dict[str, Any]:
    return {"key": key_of(dialog), "value": b"lie", "headers": [(COMMAND.encode(), b"x")]}


LIES = {
    "other": parts(send(D2, b"lie")),
    "without an id": {"key": b"k", "value": b"lie"},
    "malformed": malformed(D1),
}


class Log:
    """``cmd`` with batches, and the reader of its bodies; ``seeks``: where it began to read."""

    def __init__(self, kafka: str, prefix: str, *batches: bytes) -> None:
        self.seeks: list[int] = []
        self.cluster = HookedCluster(kafka, Topics(prefix), hooks={"assign": self._assign})
        cmd, inbox = self.cluster.topics.cmd("A"), self.cluster.topics.inbox("A")
        create(self.cluster, [TopicSpec(cmd, "cmd", 1, {"compression.type": "lz4"})])
        for one in batches:
            append(kafka, cmd, one)
        self.bodies = Bodies.of(self.cluster, cmd, inbox, 0, 1 << 20)

    def _assign(self, method: Any, places: Any) -> Any:
        self.seeks += [place.offset for place in places]
        return method(places)

    def read(self, wanted: dict[int, uuid.UUID]) -> dict[int, bytes | None]:
        return {p: command.body for p, command in self.bodies.commands(wanted).items()}


def log_with(kafka: str, prefix: str, lie: dict[str, Any]) -> Log:
    """Return a log whose records 1 and 2 are a batch that states 4, the offset of D1's body."""
    sends = [honest(send(D2, b"0")), honest(send(D2, b"3")), honest(send(D1, b"honest"))]
    hostile = batch(*disguised(3, **lie))
    return Log(kafka, prefix, sends[0], hostile, *sends[1:], honest(send(D2, b"5")))


@pytest.mark.parametrize("lie", LIES)
def test_a_body_is_read_at_its_offset_if_another_record_states_the_offset(
    kafka: str, unique: str, lie: str
) -> None:
    log = log_with(kafka, unique, LIES[lie])
    assert log.read({0: D2, 4: D1}) == {0: b"0", 4: b"honest"}
    assert log.seeks == [0, 4]
    assert log.read({0: D2, 4: D1, 5: D2}) == {0: b"0", 4: b"honest", 5: b"5"}
    assert log.seeks == [0, 4], "it is cached"
    log.bodies.close()


@pytest.mark.parametrize("lie", LIES)
def test_a_cached_record_of_another_conversation_is_replaced(
    kafka: str, unique: str, lie: str
) -> None:
    """It was skipped on the way to the body of another conversation."""
    log = log_with(kafka, unique, LIES[lie])
    log.read({0: D2})
    log.bodies.cmd.fetch(3)
    assert log.bodies.cmd._cache.get(4)
    assert log.read({4: D1}) == {4: b"honest"}
    log.bodies.close()


def test_a_body_of_several_conversations_is_read_once(kafka: str, unique: str) -> None:
    """SEND on several conversations is one record, with the key of the first."""
    sends = [send(D1, b"0"), send(D3, b"other"), send(D1, b"both", D2)]
    log = Log(kafka, unique, *map(honest, sends))
    assert log.read({0: D1, 2: D2}) == {0: b"0", 2: b"both"}
    assert log.read({2: D1}) == {2: b"both"}
    assert log.seeks == [0]
    log.bodies.close()


@pytest.mark.parametrize("lie", ["other", "without an id"])
def test_a_body_is_moved_as_it_is_at_its_offset(kafka: str, unique: str, lie: str) -> None:
    log = log_with(kafka, unique, LIES[lie])
    moved = log.bodies.to_move(Moves((), {0: D2, 4: D1}, {}))
    assert [one.value() for one in moved] == [b"0", b"honest"]
    log.bodies.close()
