"""A warm standby: what it knows, when it takes over, and that it takes over whole."""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from streams.kafka import FENCED, KafkaException, Message
from streams.node import LEFT, KafkaClock
from streams.protocol import Limits, Source
from streams.wire import encode_presence
from streams.wire.specs import safe_absence
from streams.wire.state_keys import SeenKey, StateKey
from streams.workers import Control, FencedError
from streams.workers.control.heartbeats import Heartbeats
from streams.workers.endpoint import restore
from streams.workers.endpoint.standby import SILENCE, Standby, own_name
from streams.workers.slot import Slot
from tests.running import DEADLINE
from tests.workers import test_late as late
from tests.workers.compaction import shorten, wait_until_compacted
from tests.workers.rig import Gate, Rig, Running, eventually, pause, rig
from tests.workers.test_fencing import begin, copies, send

PATIENT = Limits(retries=(60_000,))
BRIEF = replace(late.BRIEF, closed_initiator=1_000)


def process(two: Rig, name: str) -> Control:
    """Return what a process of its own would have: heartbeats that end with it."""
    control = Control(two.cluster, (), (own_name("A", "0"),), timeout=DEADLINE)
    two.controls[name,] = control
    control.start()
    return control


def working(two: Rig, control: Control) -> Running:
    """Return the one that works: a standby that found nobody."""
    first = two.endpoint(control=control, limits=PATIENT, standby=True)
    eventually(lambda: first.worker.assignment.owned or first.failure or pause(), "partitions")
    return first


def standing_by(two: Rig, control: Control) -> Running:
    """Return one that knows all of the state and has no partition."""
    second = two.endpoint(control=control, limits=PATIENT, standby=True)
    eventually(lambda: second.worker.assigned or second.failure or pause(), "a standby")
    assert not second.worker.assignment.owned
    return second


@pytest.mark.long
def test_it_takes_over_from_the_dead_with_what_it_has_read_by_then(two: Rig) -> None:
    """The state that it followed is the state that it works with; nobody reads it again."""
    control = process(two, "first")
    first = working(two, control)
    begin(two)
    second = standing_by(two, process(two, "second"))
    dialog = begin(two)  # which it learns of while it stands by
    warm = second.worker.assignment.warm[0]
    control.stop()  # no heartbeat any more
    two.running.remove(first)
    eventually(lambda: second.worker.assignment.owned or second.failure or pause(), "its turn")
    assert isinstance(first.ended(), FencedError), "it lives after all, and must not work"
    assert second.worker.assignment.owned[0].endpoint is warm.endpoint
    assert len(warm.endpoint.dialogs) == 2
    send(two, dialog, b"one")
    two.until(two.topics.out("A"), 1)


@pytest.mark.long
def test_what_a_predecessor_has_open_ends_when_its_slot_is_taken(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped between producing and committing: its successor fences it first of all."""
    monkeypatch.setattr("streams.kafka.patience.FIRST", DEADLINE)  # it is asleep, and not stuck
    monkeypatch.setattr("streams.kafka.patience.LONGEST", DEADLINE)
    control = process(two, "first")
    first = working(two, control)
    dialog = begin(two)
    second = standing_by(two, process(two, "second"))
    gate = Gate()
    first.hooks["send_offsets_to_transaction"] = gate
    send(two, dialog, b"one")
    gate.wait()
    before = first.worker.committed  # it counts after the commit, which the client may see before
    control.stop()
    two.running.remove(first)
    two.until(two.topics.out("A"), 1)
    gate.open()
    failure = first.ended()
    assert isinstance(failure, FencedError)
    assert isinstance(failure.__cause__, KafkaException)
    assert failure.__cause__.args[0].code() in FENCED, "not its transaction but its group told it"
    assert first.worker.committed == before
    assert [m.value() for m in copies(two)] == [b"one"]
    assert second.failure is None


class Observed:
    """What a standby of A/endpoint/0 reads, at any speed; all heartbeats are a second apart."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self.slot = Slot("A", "endpoint", "0")
        self.own = own_name("A", "0")
        self.heartbeats = Heartbeats(self.own, "standby", KafkaClock())
        self.standby = Standby(cast(Control, self.heartbeats), self.slot)
        assert not self.is_free

    def beat(self, name: str, replica: str, count: int, at: float) -> None:
        """Read a heartbeat ``at`` seconds after the first, and the end of the topic."""
        self.now, key = 100.0 + at, name.encode()
        appended = 1_790_000_000_000 + int(1_000 * at)
        value = encode_presence(name, replica, count, appended)
        message = Message(key=key, value=value, timestamp=(2, appended))
        self.heartbeats.read(message, self.now)
        self.heartbeats.time(message, self.now)
        self.heartbeats.end_read(self.now)

    @property
    def is_free(self) -> bool:
        """Return whether the standby would take the slot."""
        return self.standby._is_free()


@pytest.mark.parametrize("replica", ["works", "forged"])
@pytest.mark.parametrize("offset", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_forged_farewell_does_not_end_one_that_works(
    monkeypatch: pytest.MonkeyPatch, replica: str, offset: float
) -> None:
    """However often it comes, and wherever between the heartbeats of both."""
    seen = Observed(monkeypatch)
    for second in range(1, 8):
        seen.beat(seen.slot.heartbeat_name, "works", second, second)
        for at, name, sender, count in sorted(
            [
                (second + offset, seen.own, "standby", second),
                (second + 0.0005, seen.slot.heartbeat_name, replica, LEFT),
                (second + 0.9995, seen.slot.heartbeat_name, replica, LEFT),
            ]
        ):
            seen.beat(name, sender, count, at)
            assert not seen.is_free


def test_who_leaves_is_followed_after_at_most_two_and_a_half_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = Observed(monkeypatch)
    seen.beat(seen.own, "standby", 1, 0.0)
    seen.beat(seen.slot.heartbeat_name, "works", 1, 0.9)
    seen.beat(seen.slot.heartbeat_name, "works", LEFT, 0.9)
    for second, is_free in ((1, False), (2, False), (3, True)):
        seen.beat(seen.own, "standby", second + 1, second)
        assert seen.is_free is is_free


def test_the_farewell_of_a_former_owner_is_none_while_the_topic_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A standby was suspended: somebody else has taken the slot, of which it reads only now."""
    seen = Observed(monkeypatch)
    seen.beat(seen.own, "standby", 1, 0.0)
    seen.beat(seen.slot.heartbeat_name, "former", 1, 0.5)
    seen.beat(seen.slot.heartbeat_name, "former", LEFT, 0.6)
    seen.beat("B", "b", 1, 3.0)
    assert not seen.is_free
    seen.beat(seen.slot.heartbeat_name, "works", 1, 3.5)
    seen.beat(seen.own, "standby", 2, 20.0)
    assert not seen.is_free


def test_who_leaves_in_order_is_followed_without_the_silence_of_the_dead(
    two: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has said so, and then sends nothing else."""
    monkeypatch.setattr("streams.workers.endpoint.standby.SILENCE", 1e9)
    first = two.endpoint(slot="0")  # without --standby: nothing would be free otherwise
    eventually(lambda: first.worker.assigned or pause(), "partitions")
    second = standing_by(two, process(two, "second"))
    first.stop()
    eventually(lambda: second.worker.assignment.owned or second.failure or pause(), "its turn")


@pytest.mark.long
def test_it_does_not_disturb_one_that_works_without_standby(two: Rig) -> None:
    first = two.endpoint(slot="0", limits=PATIENT)
    dialog = begin(two)
    second = standing_by(two, process(two, "second"))
    sign = b"A/endpoint/0"
    two.until(two.topics.presence, int(SILENCE) + 3, lambda m: m.key() == sign)
    send(two, dialog, b"one")
    two.until(two.topics.out("A"), 1)
    assert (first.failure, second.failure) == (None, None)
    assert not second.worker.assignment.owned


@pytest.mark.long
def test_a_stand_by_that_is_stopped_leaves_nothing_behind(two: Rig) -> None:
    first = working(two, process(two, "first"))
    second = standing_by(two, process(two, "second"))
    second.stop()
    assert (first.failure, second.failure) == (None, None)
    assert first.worker.assignment.owned


class Hurried(Control):
    """A clock that a test moves forward."""

    ahead = 0

    def now(self) -> int:
        """Return Kafka's time, and more."""
        return super().now() + self.ahead


@pytest.mark.long
def test_what_is_read_all_the_time_stays_good(two: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands by for longer than Kafka keeps deletions, and knows that it has missed none."""
    monkeypatch.setattr(restore, "_CONFIRM_EVERY", 0.0)
    control = process(two, "first")
    first = working(two, control)
    begin(two)
    hurried = Hurried(two.cluster, (), (own_name("A", "0"),), timeout=DEADLINE)
    two.controls["second",] = hurried
    hurried.start()
    second = standing_by(two, hurried)
    warm = second.worker.assignment.warm[0]
    for _ in range(3):
        hurried.ahead += safe_absence("dialog") * 3 // 4
        then = hurried.now()
        eventually(lambda: warm._completeness._through > then or pause(), "it knows")  # noqa: B023
    control.stop()
    two.running.remove(first)
    eventually(lambda: second.worker.assignment.owned or second.failure or pause(), "its turn")
    assert second.worker.assignment.owned[0].endpoint is warm.endpoint


@pytest.mark.long
@pytest.mark.parametrize("notices", [True, False])
def test_a_stand_by_that_missed_a_deletion_reads_the_state_again(
    compacting_kafka: str,
    unique: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    notices: bool,
) -> None:
    """It is suspended while a dialog ends and is forgotten, until its tombstone is gone, too.

    By what it has read, the dialog is open and nothing has arrived: it would send all of it again.
    It ``notices`` that while it stands by, or when it takes over.
    """
    if not notices:
        monkeypatch.setattr(Standby, "_confirm", lambda *_: None)
    with rig(compacting_kafka, unique, late.topology(tmp_path)) as one:
        states = one.topics.dialog("A")
        shorten(one, "dialog", states, monkeypatch)
        control = process(one, "first")
        first = one.endpoint(control=control, limits=BRIEF, standby=True)
        dialog = late.begin(one)
        initiator = ("DatabaseA", dialog.id, True)
        second = one.endpoint(control=process(one, "second"), limits=BRIEF, standby=True)

        def knows_it() -> bool:
            warm = list(second.worker.assignment.warm.values())
            return any(initiator in replay.endpoint.dialogs for replay in warm)

        eventually(lambda: knows_it() or second.failure or pause(), "it knows the dialog")
        warm = second.worker.assignment.warm
        before = warm[0]
        gate = Gate()
        second.hooks["poll"] = gate
        gate.wait()
        one.forwarder()
        late.finish(one, dialog)
        eventually(lambda: not late.known(one) or pause(), "the dialog is forgotten")
        other = SeenKey(Source("x", "agent", uuid.uuid4(), 0)).encode()
        key = StateKey("DatabaseA", dialog.id, True).encode()
        wait_until_compacted(one, states, key, lambda: one.produce(states, other, None))
        if notices:
            gate.open()
            eventually(lambda: warm[0] is not before or second.failure or pause(), "it reads again")
        control.stop()
        one.running.remove(first)
        gate.open()
        eventually(lambda: second.worker.assignment.owned or second.failure or pause(), "its turn")
        assert not second.worker.assignment.owned[0].endpoint.dialogs
        late.begin(one)
        one.until(late.queue(one), 5)
        assert late.bodies(one) == [b"one", b"two", b"", b"one", b"two"]
