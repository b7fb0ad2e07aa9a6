"""What the next transaction of a partition takes on, without Kafka."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from streams.kafka import GoneError, Message, NotNowError, SearchTime
from streams.node import Endpoint, Moves, UnreadableError, catalog_of
from streams.protocol import Dialog, DialogKey, State
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import key_of
from streams.wire.state import Positions
from streams.wire.state_keys import RequestKey
from streams.workers.endpoint import apply_work, commit_work
from streams.workers.endpoint.allowance import BYTES, Allowance
from streams.workers.endpoint.apply_work import Applied, WorkApplier
from streams.workers.endpoint.bodies import MOVED_BYTES, Bodies
from streams.workers.endpoint.commit_work import WorkCommitter
from streams.workers.endpoint.inputs import Input, Inputs, Intake
from streams.workers.endpoint.look_ahead import LookAhead
from streams.workers.endpoint.output import Output
from streams.workers.endpoint.partition import Partition, Work
from streams.workers.endpoint.transactions import Part
from streams.workers.event_counts import Committed

ID = uuid.UUID(int=1)
KEY = ("DatabaseA", ID, True)
RETRY = 1_000
"""When the dialog's retry is due, in epoch milliseconds."""


def restored(backlog: int, number: int = 0) -> Partition:
    """Return a partition after a restart: a retry is due, and ``ack`` is read up to 5."""
    topology = load(topologies_dir() / "two_brokers", 0.0)
    endpoint = Endpoint("ServerA", catalog_of(topology, 1))
    endpoint.advance(0)
    dialog = Dialog(
        conversation=ID,
        database="DatabaseA",
        broker_id=topology.instances["ServerA"].databases["DatabaseA"].broker_id,
        is_initiator=True,
        state=State.CO,
        service="InitiatorService",
        far_service="TargetService",
        far_broker=None,
        contract="DEFAULT",
        group=ID,
        handle=ID,
        created_at=0,
        expires_at=10**9,
        retry_at=RETRY,
    )
    endpoint.restore(KEY, dialog)
    unread: Any = None  # bodies: nothing is read here
    positions = {"cmd": 0, "in": 0, "ack": 5}
    ahead = LookAhead(unread, "in", number)
    return Partition(number, endpoint, unread, ahead, positions, {"ack": backlog}, Allowance(1_000))


def test_a_timer_waits_for_the_backlog() -> None:
    """What waits there may be the acknowledgement that makes the retry needless."""
    assert restored(backlog=6).take_work(RETRY, 100).due == []
    assert restored(backlog=5).take_work(RETRY, 100).due == [KEY]


class Slow(WorkApplier):
    """Work that takes 0.6 s for each partition, by a clock of its own."""

    def __init__(self) -> None:
        self.clock = 0.0

    def monotonic(self) -> float:
        """Return the clock."""
        return self.clock

    def apply(self, owned: Partition, work: Work, read_at: float, *_: Any) -> Applied:
        """Apply nothing."""
        self.clock += 0.6
        unread: Any = None  # bodies: nothing is read here
        tx = owned.endpoint.begin(unread, RETRY, timers=False)
        return Applied(owned, work, tx, owned.positions)


class Commits:
    """Transactions that are always committed: the partitions of each."""

    def __init__(self) -> None:
        self.numbers: list[list[int]] = []

    def commit(self, parts: Sequence[Part], _: Any) -> dict[int, int]:
        """Note the partitions."""
        self.numbers.append([part.partition for part in parts])
        return dict.fromkeys(self.numbers[-1], 0)


def test_a_turn_of_all_partitions_ends_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work of the others is given back: records in their order, and timers."""
    partitions = [restored(5, number) for number in range(4)]
    records = [Message(topic="in", partition=3, offset=n, value=b"x") for n in range(3)]
    partitions[3].pending = records[:2]
    works = [(one, one.take_work(RETRY, 100)) for one in partitions]
    partitions[3].pending = records[2:]
    slow, commits, unused = Slow(), Commits(), Any
    monkeypatch.setattr(commit_work, "time", slow)
    committer = WorkCommitter("A", commits, slow, unused, Committed())  # type: ignore[arg-type]
    first = committer.apply(works, 0.0, None)
    assert commits.numbers == [[0, 1]]
    assert first is partitions[2]
    assert partitions[3].pending == records
    assert [one.take_work(RETRY, 100).due for one in partitions] == [[], [], [KEY], [KEY]]


def test_a_transaction_is_counted_when_its_work_is_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads wait for the count, and read what has been merged then."""
    partitions, counts, unused = [restored(5, number) for number in range(2)], Committed(), Any
    merged, merge = list[int](), Partition.merge

    def note(owned: Partition, *given: Any, **named: Any) -> None:
        merged.append(counts.transactions)
        merge(owned, *given, **named)

    monkeypatch.setattr(Partition, "merge", note)
    works = [(one, one.take_work(RETRY, 100)) for one in partitions]
    WorkCommitter("A", Commits(), Slow(), unused, counts).apply(works, 0.0, None)  # type: ignore[arg-type]
    assert (merged, counts.transactions) == ([0, 0], 1)


class WithoutBody(Slow):
    """Work of partition 1 that needs a body which its log has lost."""

    def apply(self, owned: Partition, work: Work, read_at: float, *given: Any) -> Applied:
        """Apply nothing, or what is refused."""
        is_refused = bool(given and given[0])
        if owned.number == 1 and not is_refused:
            conversations = {key[1] for key in (*work.due, *work.room)}
            raise UnreadableError("cmd.ServerA/1@5 was deleted", {5}, conversations)
        return super().apply(owned, work, read_at)


def test_records_are_taken_up_to_a_number_of_bytes_and_the_others_later_in_order() -> None:
    """Large records are read by several transactions, however few they are."""
    owned, body = restored(5), bytes(BYTES // 10 * 3)
    records = [Message(topic="in", partition=0, offset=n, value=body) for n in range(5)]
    owned.pending = [*records]
    assert owned.take_work(0, 100).messages == records[:4], "the fourth exceeds the limit"
    assert owned.pending == records[4:]
    assert owned.take_work(0, 100).messages == records[4:]
    assert owned.pending == []


@dataclass(frozen=True, slots=True)
class SlowIntake(Intake):
    """Records that have no effect, and take 0.6 s each by a clock of their own."""

    clock: Slow

    def read(self, message: Message, read_at: float) -> Input:
        """Return nothing to apply."""
        return None

    def apply(self, *_: Any) -> None:
        """Let the time pass."""
        self.clock.clock += 0.6


def test_records_for_which_a_transaction_has_no_time_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second is over before the third one, also when work that failed is divided."""
    unused, owned, clock = cast(Any, None), restored(5), Slow()
    monkeypatch.setattr(apply_work, "time", clock)
    intake = SlowIntake(Inputs("cmd", "in", "ack"), 1, unused, unused, clock)
    works = WorkApplier(intake, unused, Committed(), lambda: 0)
    records = [Message(topic="in", partition=0, offset=n, value=b"x") for n in range(5)]
    for work in (Work(records), Work(records, opens=False)):
        applied = works.apply(owned, work, 0.0)
        assert (applied.left, applied.positions["in"]) == (records[2:], 2)
        works.abandon([applied])


def test_records_without_room_do_not_delay_a_timer_that_fails() -> None:
    """Divided work ends at records for which there is no room; so they are its last part."""
    records = [Message(topic="in", partition=0, offset=n, value=b"x") for n in range(2)]
    other = (*KEY[:2], not KEY[2])
    before, last = Work(records, due=[KEY], probes=[KEY], room=[other]).halves() or ()
    assert last == Work(records, opens=False)
    timers, room = before.halves() or ()
    assert timers == Work(due=[KEY], probes=[KEY], opens=False)
    assert room == Work(room=[other], opens=False)


def test_less_work_gives_back_what_was_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader has passed these records, so nothing would read them again."""
    owned, given = restored(5), list[Message]()
    monkeypatch.setattr(LookAhead, "put_back", lambda _, messages: given.extend(messages))
    ahead = [Message(topic="in", partition=0, offset=n, value=b"x") for n in range(2)]
    assert owned.lessen(Work(ahead=ahead)).ahead == ()
    assert given == ahead


def test_work_without_timers_is_repeated_without_opening_windows() -> None:
    """Bodies that the records release may be the reason of the failure."""
    records = [Message(topic="ack", partition=0, offset=0, value=b"x")]
    nothing, again = Work(records).halves() or ()
    assert nothing.is_nothing
    assert again == Work(records, opens=False)
    assert again.halves() is None


def test_a_body_that_is_gone_concerns_its_own_partition_only() -> None:
    """The others go on, and what needs the body is refused alone."""
    partitions = [restored(5, number) for number in range(2)]
    works = [(one, one.take_work(RETRY, 100)) for one in partitions]
    commits, unused = Commits(), Any
    committer = WorkCommitter("A", commits, WithoutBody(), unused, Committed())  # type: ignore[arg-type]
    committer.apply(works, 0.0, None)
    assert commits.numbers == [[0], [1]]


class Lost(Slow):
    """Work of dialogs whose bodies can no longer be read; one search finds one of them."""

    def __init__(self, *lost: uuid.UUID) -> None:
        super().__init__()
        self.lost, self.attempts = lost, 0

    def apply(self, owned: Partition, work: Work, read_at: float, *given: Any) -> Applied:
        """Apply nothing, or postpone what is refused."""
        self.attempts += 1
        keys = (*work.due, *work.room)
        if given and given[0]:
            return replace(super().apply(owned, work, read_at), postponed=keys)
        found = [key[1] for key in keys if key[1] in self.lost]
        if found:
            owned.arm(keys)
            raise UnreadableError("cmd.ServerA/0@5 is in an unreadable batch", {5}, {found[0]})
        return super().apply(owned, work, read_at)


def turns_of(works: Lost, owned: Partition) -> list[tuple[int, list[DialogKey]]]:
    """Take turns until nothing is due: the attempts of each turn, and what it left."""
    unused, found = Any, []
    committer = WorkCommitter("A", Commits(), works, unused, Committed())  # type: ignore[arg-type]
    while (work := owned.take_work(RETRY, 100)).due:
        before = works.attempts
        committer.apply([(owned, work)], 0.0, None)
        found.append((works.attempts - before, sorted(owned.postponed)))
        if not set(work.due) & owned.postponed.keys():
            break
    return found


def test_only_dialogs_whose_bodies_are_lost_are_postponed() -> None:
    """One search per turn, and no bisection: other records and partitions would wait for both."""
    owned, dialog = restored(5), restored(5).endpoint.dialogs[KEY]
    ids = [uuid.UUID(int=n) for n in range(1, 9)]
    keys = [("DatabaseA", name, True) for name in ids]
    for key in keys[1:]:
        owned.endpoint.restore(key, replace(dialog, conversation=key[1]))
    assert turns_of(Lost(*ids[:3]), owned) == [
        (2, keys[:1]),
        (2, keys[:2]),
        (2, keys[:3]),
        (1, keys[:3]),
    ]


def test_a_lost_body_of_no_dialog_that_is_due_is_searched_by_halving() -> None:
    """Otherwise the work would be repeated for ever."""
    owned = restored(5)

    class Other(Lost):
        def apply(self, owned: Partition, work: Work, *given: Any) -> Applied:
            if len(given) > 1 and given[1]:
                return super().apply(owned, work, 0.0, given[1])
            raise UnreadableError("cmd.ServerA/0@5 is lost", {5}, {uuid.UUID(int=99)})

    assert turns_of(Other(), owned)[0][1] == [KEY]


class Silent:
    """A topic whose records cannot be read; each search takes 0.1 s of its clock."""

    bytes_returned = bytes_read = 0

    def __init__(self) -> None:
        self.now, self.asked = 0.0, list[int]()
        self.searches = SearchTime(lambda: self.now)

    def fetch(self, position: int) -> Message:
        """Search in vain, if there is time."""
        if position in self.asked:
            raise GoneError(f"cmd/0@{position} is in an unreadable batch")
        if not self.searches.has_left():
            raise NotNowError(f"cmd/0@{position} is not read now")
        self.now += 0.1
        self.searches.spend(0.1)
        self.asked.append(position)
        raise GoneError(f"cmd/0@{position} is in an unreadable batch")


def test_all_partitions_of_a_worker_share_the_time_to_search_for_lost_bodies() -> None:
    """A quarter of a second at first, and then a quarter of the time."""
    log = Silent()
    one, other = (Bodies(cast(Any, log), cast(Any, log)) for _ in range(2))
    wanted = {position: uuid.UUID(int=position) for position in range(9)}
    with pytest.raises(UnreadableError, match="@0 is in an unreadable batch") as caught:
        one.commands(wanted)
    assert caught.value.positions == {0, 1, 2, 3}
    assert caught.value.conversations == {wanted[position] for position in range(4)}
    assert caught.value.is_unfinished
    with pytest.raises(UnreadableError, match="@5 is not read now") as caught:
        other.messages({5: ID})
    assert not caught.value.positions and caught.value.is_unfinished
    assert one.to_move(Moves((), {6: ID}, {7: ID})) == [], "they stay"
    log.now += 0.4
    assert one.to_move(Moves((), {6: ID}, {7: ID})) == [], "one search"
    assert log.asked == [0, 1, 2, 3, 6]
    log.now += 10
    with pytest.raises(UnreadableError) as caught:
        one.commands(wanted)
    assert caught.value.positions == set(wanted) and not caught.value.is_unfinished


def test_work_is_due_again_if_there_is_no_time_to_search() -> None:
    """Its dialogs are not postponed, because their bodies may be there."""
    owned = restored(5)

    class Later(Slow):
        def apply(self, owned: Partition, work: Work, read_at: float, *_: Any) -> Applied:
            owned.arm(work.due)
            raise UnreadableError("cmd/0@5 is not read now", set(), set(), is_unfinished=True)

    committer = WorkCommitter("A", Commits(), Later(), cast(Any, None), Committed())  # type: ignore[arg-type]
    for _ in range(2):
        work = owned.take_work(RETRY, 100)
        assert work.due == [KEY]
        committer.apply([(owned, work)], 0.0, None)
        assert not owned.postponed


@dataclass(frozen=True)
class Stored:
    """A record with a small body and a large header, as Kafka's client has it."""

    at: int

    def __len__(self) -> int:
        return 10

    def key(self) -> bytes:
        return key_of(ID)

    def headers(self) -> list[tuple[str, bytes]]:
        return [("filler", bytes(MOVED_BYTES // 4))]


class Log:
    """A topic that has such a record at every offset."""

    def fetch(self, position: int) -> Stored:
        """Return a record."""
        return Stored(position)


def test_headers_count_in_what_is_moved_in_one_transaction() -> None:
    """A statement is moved as it is stored; its headers may inflate to any size."""
    bodies = Bodies(cast(Any, Log()), cast(Any, Log()))
    moved = bodies.to_move(Moves((), dict.fromkeys((3, 4, 5, 6), ID), {7: ID, 8: ID}))
    assert cast(Any, moved) == [Stored(3), Stored(4), Stored(5), Stored(6)]


def test_the_record_of_a_forgotten_request_is_deleted() -> None:
    """Otherwise a restarted worker would have it again."""
    tx = restored(0).endpoint.begin(cast(Any, None), RETRY, timers=False)
    tx.close()
    tx.notices.forgotten.append(("DatabaseA", "Unknown"))
    output = Output(Topics("x."), "ServerA", cast(Any, None), threading.Event())
    output.write(tx, 0, Positions())
    written = [record for each in output._records for record in each]
    deleted = [record[2] for record in written if record[1] is None]
    assert deleted == [RequestKey("DatabaseA", "Unknown").encode()]
