"""A captured command as a replay issues it: now, by a job, with a new dialog id or not."""

from __future__ import annotations

import uuid
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from streams.capture import Record, TimestampType
from streams.capture.generate import Traffic, generate
from streams.capture.restate import Restatement
from streams.protocol import Command
from streams.protocol.command import CommandKind
from streams.wire.job import renewed, tag_in, tag_of
from streams.wire.records import command_record, read_command
from tests.capture.commands import begin, records, send


def restated_command(
    record: Record, *, new: bool = False, loop: int = 0, job: str = "j"
) -> Command:
    _, key, value, headers, *_ = Restatement(job, new).apply(record, loop, 42)
    return read_command(key, value, headers, 0)


def test_a_command_is_issued_now_and_otherwise_unchanged() -> None:
    for one in generate(Traffic(dialogs=3, messages=9)):
        before = read_command(one.key, one.value, list(one.headers), 0)
        ringed = replace(one, headers=(("x", None), *one.headers, ("x", b"")))
        out = Restatement("j").apply(ringed, 0, 42)
        assert [key for key, _ in out.headers] == ["x", "sb-command", "x", "sb-job"]
        assert (out.topic, out.key, out.value) == (one.topic, one.key, one.value)
        assert restated_command(one) == before._replace(issued_at=42)


def test_a_replayed_command_has_no_cause_and_has_its_job() -> None:
    """Else the second replay into the same topics would be passed over as repeated."""
    [record] = records([begin(1)])
    old = replace(record, headers=(*record.headers, ("sb-cause", b""), ("sb-job", b"older")))
    headers = Restatement("newer").apply(old, 0, 42).headers
    assert [name for name, _ in headers] == ["sb-command", "sb-job"]
    assert headers[-1] == ("sb-job", b"newer")


def test_what_is_no_command_stays_as_it_is() -> None:
    headers = (("sb-command", b"garbage"), ("sb-command", None), ("sb-command", b""))
    for new in (False, True):
        record = Record("t", 0, 0, 5, TimestampType.CREATE_TIME, b"k", headers, None)
        out = Restatement("j", new).apply(record, 1, 42)
        assert (out.key, tuple(out.headers), out.value) == (b"k", headers, None)


def test_a_new_dialog_takes_all_that_belongs_to_it_along() -> None:
    one, two, group = (uuid.UUID(int=n) for n in (1, 2, 3))
    made = records([begin(1, related=two, group=group), send(1, also=(two,)), send(2)])
    first, both, other = (restated_command(record, new=True) for record in made)
    new = renewed(one, "j", 0)
    assert first.conversation == both.conversation == new != one
    assert first.related == both.also[0] == other.conversation == renewed(two, "j", 0)
    assert first.group == renewed(group, "j", 0)
    assert both.command_id != uuid.UUID(int=0)


def test_ids_follow_from_job_loop_and_old_id() -> None:
    [record] = records([begin(1)])
    ids = {
        restated_command(record, new=True, job=j, loop=n).conversation for j in "ab" for n in (0, 1)
    }
    assert len(ids) == 4
    assert restated_command(record, new=True, job="a", loop=1) == restated_command(
        record, new=True, job="a", loop=1
    )
    assert restated_command(record, loop=1).conversation == uuid.UUID(int=1)


@given(st.uuids(), st.text(min_size=1), st.integers(0, 1000))
def test_a_new_id_has_the_tag_of_its_job(known: uuid.UUID, job: str, loop: int) -> None:
    new = renewed(known, job, loop)
    assert (new.version, new.variant, tag_in(new)) == (8, uuid.RFC_4122, tag_of(job))


@given(st.uuids(version=4))
def test_ids_of_others_say_nothing(known: uuid.UUID) -> None:
    assert tag_in(known) is None
    assert tag_in(uuid.uuid5(known, "x")) is None


def test_an_end_stays_an_end() -> None:
    command = Command(uuid.UUID(int=1), uuid.UUID(int=9), CommandKind.END, "D", error_code=7)
    key, value, headers = command_record(command)
    record = Record("t", 0, 0, 5, TimestampType.CREATE_TIME, key, tuple(headers), value)
    assert (restated_command(record, new=True).kind, restated_command(record).error_code) == (
        CommandKind.END,
        7,
    )
