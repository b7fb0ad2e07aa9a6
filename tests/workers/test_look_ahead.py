"""Messages of new dialogs overtake a backlog of `in`, once and in order (decision 45)."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from streams.errors import Number
from streams.kafka import Cluster, Consumer, Message, take_more
from streams.node import Transaction
from streams.protocol import Flag, Header, Journey, Parties
from streams.protocol import Message as Frame
from streams.wire import Topics, decode_event
from streams.wire.records import message_record, queued_conversation
from streams.workers.endpoint import look_ahead
from streams.workers.endpoint.allowance import Allowance
from streams.workers.endpoint.apply_work import WorkApplier
from streams.workers.endpoint.bodies import Bodies
from streams.workers.endpoint.held_back import HeldBackStatements
from streams.workers.endpoint.inputs import Inputs, Intake
from streams.workers.endpoint.look_ahead import Early, LookAhead
from streams.workers.endpoint.partition import Partition, Work
from streams.workers.event_counts import Committed
from tests.node.harness import START
from tests.node.places import pair as net_pair
from tests.node.test_accept_message import arriving
from tests.running import DEADLINE
from tests.workers.rig import Hook, Killed, Rig, Running, pair, rig

DIALOGS, EACH, FAR = 20, 200, 1_000
SOON = 4_000_000_000_000
PARTIES = Parties("TargetService", None, "InitiatorService", "DatabaseA", "DEFAULT", True)
OLD = [uuid.UUID(int=n + 1) for n in range(DIALOGS)]
NEW = uuid.UUID(int=1_000)


@pytest.fixture
def two(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return two instances, in which nothing runs yet."""
    with rig(kafka, unique, pair(tmp_path)) as made:
        yield made


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a worker read ahead of a small backlog; its first look finds all that arrives late."""
    looked = set[int]()

    def patient(consumer: Consumer, most: int) -> list[Message]:
        if id(consumer) in looked:
            return take_more(consumer, most)
        looked.add(id(consumer))
        late = (consumer.poll(DEADLINE) for _ in LATE)
        return [message for message in late if message is not None]

    monkeypatch.setattr(look_ahead, "FAR", FAR)
    monkeypatch.setattr(look_ahead, "take_more", patient)


def write(two: Rig, frames: Sequence[tuple[uuid.UUID, int]]) -> None:
    """Write messages of dialogs into B's `in`, given by dialog and number."""
    client, topic = two._client(), two.topics.inbox("B")
    for dialog, number in frames:
        header = Header(uuid.uuid5(dialog, str(number)), "DEFAULT", number, 1, SOON, Flag.NONE)
        key, value, headers = message_record(
            dialog, PARTIES, header, Journey(16, SOON, 0, 1, 0, (("A", 1),)), b"%d" % number
        )
        client.produce(topic, key=key, value=value, headers=headers)
    assert client.flush(DEADLINE) == 0


BACKLOG = [(dialog, number) for number in range(EACH) for dialog in OLD]
LATE = [(OLD[0], EACH), (NEW, 0), (NEW, 1), (OLD[0], EACH + 1), (NEW, 3)]
"""What arrives while the backlog is applied; the new dialog's third message follows later."""
REST = [(NEW, 2)]


def writes_late(two: Rig, frames: Sequence[tuple[uuid.UUID, int]]) -> Hook:
    """Return a hook that writes frames when a worker begins to read ahead."""

    def assign(method: Hook, places: Any) -> Any:
        method(places)
        if [place.topic for place in places] == [two.topics.inbox("B")]:
            write(two, frames)

    return assign


def started(two: Rig, **hooks: Hook) -> Running:
    write(two, BACKLOG)
    return two.endpoint("B", hooks={"assign": writes_late(two, LATE), **hooks})


def delivered(two: Rig, count: int) -> list[tuple[uuid.UUID, int]]:
    """Return the dialogs and numbers of the messages in the queue, in its order."""
    queue = two.topics.queue("B", "DatabaseB", "TargetQueue")
    two.until(queue, count)
    return [
        (queued_conversation(record.headers() or []), int(record.value() or b""))  # type: ignore[arg-type]
        for record in two.records(queue)
    ]


def duplicates(two: Rig) -> int:
    """Return the number of removed copies."""
    found = [decode_event(record.value()) for record in two.records(two.topics.event)]
    return sum(event["error"] == Number.DUPLICATE for event in found)


def numbers(found: Sequence[tuple[uuid.UUID, int]]) -> dict[uuid.UUID, list[int]]:
    return {key: [n for dialog, n in found if dialog == key] for key, _ in found}


ALL = {dialog: list(range(EACH)) for dialog in OLD} | {
    OLD[0]: list(range(EACH + 2)),
    NEW: [0, 1, 2, 3],
}
COUNT = len(BACKLOG) + len(LATE)


@pytest.mark.usefixtures("ahead")
def test_a_new_dialog_overtakes_a_backlog_once_and_in_order(two: Rig) -> None:
    started(two)
    before = delivered(two, COUNT - 1)  # without the new dialog's last message
    assert before.index((NEW, 1)) < FAR + 2 < before.index((OLD[0], EACH))
    write(two, REST)
    assert numbers(delivered(two, COUNT + 1)) == ALL
    assert duplicates(two) == 0


@pytest.mark.usefixtures("ahead")
def test_a_worker_that_restarts_removes_what_it_has_applied_early(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = Counter[str]()

    def commit(method: Hook, *args: Any) -> Any:
        commits["all"] += 1
        if commits["all"] == 2:
            raise Killed
        return method(*args)

    first = started(two, commit_transaction=commit)
    assert isinstance(first.ended(), Killed)
    two.running.remove(first)
    assert (NEW, 1) in delivered(two, 1)
    write(two, REST)
    monkeypatch.setattr(look_ahead, "FAR", 2 * COUNT)
    two.endpoint("B")
    assert numbers(delivered(two, COUNT + 1)) == ALL
    assert duplicates(two) == 2


@pytest.mark.usefixtures("ahead")
def test_what_fails_when_it_is_read_ahead_waits_for_its_place(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One record must not delay the backlog again and again."""
    tried: list[uuid.UUID] = []
    is_next = Transaction.is_next

    def failing(tx: Transaction, message: Frame) -> bool:
        tried.append(message.conversation)
        if message.conversation == NEW:
            raise RuntimeError("fails")
        return is_next(tx, message)

    monkeypatch.setattr(Transaction, "is_next", failing)
    started(two)
    write(two, REST)
    assert numbers(delivered(two, COUNT + 1)) == ALL
    assert tried.count(NEW) == 1
    assert two.check() is None and duplicates(two) == 0


# --- when a worker reads ahead --------------------------------------------------------------------


class Reader:
    """A consumer that has any number of records."""

    def __init__(self) -> None:
        self.places: list[int] = []
        self.closed = 0

    def assign(self, places: Sequence[Any]) -> None:
        """Note the offset."""
        self.places.append(places[0].offset)

    def consume(self, count: int, timeout: float) -> list[Any]:
        """Return records."""
        return [Record() for _ in range(count)]

    def close(self) -> None:
        """Count the calls."""
        self.closed += 1


class Record:
    """A record of no size."""

    def __len__(self) -> int:
        return 0

    def error(self) -> None:
        """Return no error."""

    def headers(self) -> None:
        """Return no headers."""


class Stub:
    """A cluster with one consumer."""

    topics = Topics("t.")

    def __init__(self) -> None:
        self.reader = Reader()

    def consumer(self, group: str, **config: Any) -> Reader:
        """Return the consumer."""
        return self.reader


def test_a_worker_reads_ahead_while_it_is_far_behind() -> None:
    stub = Stub()
    ahead, end = LookAhead(cast(Cluster, stub), "in", 0), 100_000
    assert ahead.take(1_000) == []
    ahead.follow(0, -1001)  # unknown
    ahead.follow(end - look_ahead.FAR + 1, end)
    assert not ahead.reads
    ahead.follow(end - look_ahead.FAR, end)
    ahead.follow(end - look_ahead.FAR // 2, end + 1)
    assert ahead.reads and stub.reader.places == [end]
    ahead.follow(end - look_ahead.FAR // 2 + 1, end)
    assert not ahead.reads and stub.reader.closed == 1


def test_after_a_failure_nothing_is_read_ahead_of_the_same_backlog() -> None:
    stub = Stub()
    ahead, end = LookAhead(cast(Cluster, stub), "in", 0), 100_000
    ahead.follow(0, end)
    ahead.give_up()
    ahead.follow(0, end)
    assert not ahead.reads
    ahead.follow(end, end)
    ahead.follow(end, 2 * end)
    assert ahead.reads and stub.reader.places == [end, 2 * end]


def test_records_that_do_not_fit_are_read_ahead_next_time() -> None:
    ahead = LookAhead(cast(Cluster, Stub()), "in", 0)
    ahead.follow(0, 100_000)
    first = ahead.take(20)
    assert len(first) == 10
    ahead.put_back(first)
    assert ahead.take(8) == first[:4] and ahead.take(12) == first[4:]
    assert len(ahead.take(100_000)) == look_ahead.MOST_AT_ONCE


def test_the_number_of_early_records_is_limited() -> None:
    ahead = LookAhead(cast(Cluster, Stub()), "in", 0)
    ahead.follow(0, 100_000)
    ahead.merge(Early(applied=set(range(look_ahead.MOST_APPLIED))))
    assert ahead.take(1_000) == [] and not ahead.reads
    ahead.follow(0, 100_000)
    assert not ahead.reads
    ahead.merge(Early(skipped=set(range(look_ahead.MOST_APPLIED // 2))))
    ahead.follow(0, 100_000)
    assert not ahead.reads, "not yet: it would soon be closed again"
    ahead.merge(Early(skipped={look_ahead.MOST_APPLIED - 1}))
    ahead.follow(0, 100_000)
    assert ahead.reads


def test_the_number_of_early_dialogs_is_limited() -> None:
    """A worker may stay far behind for days, with many short dialogs."""
    ahead = LookAhead(cast(Cluster, Stub()), "in", 0)
    ahead.follow(0, 100_000)
    for number in range(3):
        streams = {(uuid.UUID(int=n), True) for n in range(number * 40_000, (number + 1) * 40_000)}
        ahead.merge(Early(streams=streams))
    assert len(ahead._streams) == 40_000


# --- its share of a transaction -------------------------------------------------------------------


class Given:
    """An intake of records that are already decoded."""

    inputs = Inputs("cmd", "in", "ack")

    def __init__(self, frames: dict[int, Frame]) -> None:
        self.frames = frames

    def read(self, message: Message, read_at: float) -> Frame:
        """Return the frame at an offset."""
        return self.frames[message.offset() or 0]

    def apply(self, tx: Transaction, bodies: object, message: Message, read: Frame) -> None:
        """Apply the frame."""
        tx.message(message.offset() or 0, read)


@dataclass
class Placed:
    """A record at an offset of `in`."""

    place: int

    def offset(self) -> int:
        """Return the offset."""
        return self.place

    def topic(self) -> str:
        """Return the topic."""
        return "in"


@pytest.mark.parametrize("type_", ["DEFAULT", "Unknown"])
def test_a_backlog_has_half_of_a_transaction(type_: str) -> None:
    """A refused message plans four effects, so the number of early records is not enough."""
    node = net_pair()["ServerB"]
    backlog = {n: arriving(0, dialog=uuid.UUID(int=n + 1)) for n in range(100)}
    tail = {n + 1_000: arriving(0, dialog=uuid.UUID(int=n + 1_000)) for n in range(100)}
    tail = {
        n: frame._replace(header=frame.header._replace(type=type_)) for n, frame in tail.items()
    }
    intake, counts = cast(Intake, Given(backlog | tail)), Committed()
    applier = WorkApplier(intake, cast(HeldBackStatements, None), counts, lambda: START)
    positions = dict.fromkeys(Inputs("cmd", "in", "ack"), 0)
    owned = Partition(
        0, node.endpoint, cast(Bodies, node), LookAhead(cast(Cluster, None), "in", 0), positions,
        {}, Allowance(100),
    )  # fmt: skip
    records = [[cast(Message, Placed(n)) for n in frames] for frames in (backlog, tail)]
    done = applier.apply(owned, Work(records[0], ahead=records[1]), 0.0)
    assert 10 <= len(done.early.applied) <= 50
    assert done.positions["in"] >= 45
    assert [m.offset() for m in done.ahead_left] == list(tail)[len(done.early.applied) :]
