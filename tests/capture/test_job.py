"""A replay's job on a real broker: whatever happens to its process, every record is there once."""

from __future__ import annotations

import os

import pytest

from streams.capture.job import Job, RejectedItem, standing_of
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, FencedError, Outgoing, create, read_all
from streams.wire import Topics
from streams.wire.specs import TopicSpec, spec
from tests.forgetting import forget
from tests.workers.rig import Hook, HookedCluster

LARGE = 200_000


def made(kafka: str, prefix: str) -> tuple[Cluster, str]:
    cluster, topic = Cluster(kafka, Topics(prefix)), f"{prefix}cmd.A"
    create(cluster, [TopicSpec(topic, "cmd", 2, {"max.message.bytes": "100000"})])
    return cluster, topic


def job(cluster: Cluster, topic: str, *, plan: str = "plan", now: int = 5) -> Job:
    return Job(cluster, "nightly", plan=plan, anchor=topic, now=now)


def outgoing(topic: str, *values: bytes) -> list[Outgoing]:
    return [Outgoing(topic, b"k", value, []) for value in values]


def test_whoever_takes_a_job_up_goes_on_where_it_is_and_the_predecessor_is_fenced(
    kafka: str, unique: str
) -> None:
    cluster, topic = made(kafka, unique)
    first = job(cluster, topic)
    assert (first.resumed, first.standing) == (False, (0, 0, 5))
    assert first.commit(outgoing(topic, b"1", b"2")) == []
    second = job(cluster, topic, now=99)
    assert (second.resumed, second.standing) == (True, (2, 0, 5))
    with pytest.raises(FencedError):
        first.commit(outgoing(topic, b"lost"))
    assert second.commit(outgoing(topic, b"3")) == []
    assert second.standing.position == 3
    assert [message.value() for message in read_all(cluster, topic, to_high=True)] == [
        b"1",
        b"2",
        b"3",
    ]
    first.close()
    second.close()


def test_what_kafka_never_takes_is_passed_over_and_its_neighbours_go_through(
    kafka: str, unique: str
) -> None:
    cluster, topic = made(kafka, unique)
    one = job(cluster, topic)
    refused = one.commit(outgoing(topic, b"1", b"2", os.urandom(LARGE), b"4", b"5"))
    assert refused == [RejectedItem(2, refused[0].reason)]
    assert "too large" in refused[0].reason
    assert one.standing == (5, 1, 5)
    one.close()
    again = job(cluster, topic)
    assert again.standing == (5, 1, 5)
    assert again.commit([Outgoing(topic, None, None, [("h", None)], 1, 1_000)]) == []
    again.close()
    read = list(read_all(cluster, topic, to_high=True))
    assert [m.value() for m in read if m.key()] == [b"1", b"2", b"4", b"5"]
    [raw] = [m for m in read if not m.key()]
    assert (raw.partition(), raw.timestamp()[1], raw.value()) == (1, 1_000, None)


@pytest.mark.parametrize(
    "note",
    ['{"plan": "other", "refused": 0, "began": 1}', "", "7", "[" * 5_000, '{"plan": "mine"}',
     '{"plan": "mine", "refused": null, "began": 1}', '{"plan": "mine", "refused": 1e400}'],
)  # fmt: skip
def test_a_note_that_nobody_of_ours_wrote_is_of_another_plan(note: str) -> None:
    with pytest.raises(UsageError, match="already exists with another capture"):
        standing_of(5, note, "mine", "job")


def test_a_name_that_stands_for_another_plan_is_refused(kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    one = job(cluster, topic)
    one.commit(outgoing(topic, b"1"))
    one.close()
    with pytest.raises(UsageError, match="already exists with another capture"):
        job(cluster, topic, plan="other")


def kept(kafka: str, unique: str) -> tuple[Cluster, str]:
    """Return a cluster where jobs are known for good."""
    cluster, topic = made(kafka, unique)
    create(cluster, [spec(cluster.topics.reading("A"), "reading")])
    return cluster, topic


def nightly(cluster: Cluster, topic: str, name: str = "nightly") -> Job:
    return Job(cluster, name, plan="plan", anchor=topic, now=5, instance="A")


def test_a_job_with_expired_offsets_is_refused_and_sends_nothing_again(
    kafka: str, unique: str
) -> None:
    cluster, topic = kept(kafka, unique)
    one = nightly(cluster, topic)
    one.commit(outgoing(topic, b"1", b"2"))
    one.close()
    again = nightly(cluster, topic)
    assert (again.resumed, again.standing) == (True, (2, 0, 5))
    again.commit(outgoing(topic, b"3"))
    again.close()
    forget(cluster, f"{unique}replay.nightly")
    for _ in range(2):
        with pytest.raises(
            SurroundingsError, match=r"2 records were settled; there may be more"
        ) as no:
            nightly(cluster, topic)
        assert "another --job name" in no.value.remedy
    other = nightly(cluster, topic, "weekly")
    assert not other.resumed
    other.close()
    assert [message.value() for message in read_all(cluster, topic, to_high=True)] == [
        b"1",
        b"2",
        b"3",
    ]


def test_a_job_that_died_before_its_first_batch_is_not_taken_for_a_forgotten_one(
    kafka: str, unique: str
) -> None:
    """Its record is there, and so is its offset: that was first."""
    cluster, topic = kept(kafka, unique)
    hooked = HookedCluster(cluster.bootstrap, cluster.topics)

    class CrashError(BaseException):
        """The job is gone: nothing after this happens."""

    def crash(*_: object, **__: object) -> None:
        raise CrashError

    def crash_later(method: Hook, *args: object, **named: object) -> None:
        hooked.hooks["begin_transaction"] = crash
        method(*args, **named)

    hooked.hooks["begin_transaction"] = crash_later
    with pytest.raises(CrashError):
        nightly(hooked, topic).commit(outgoing(topic, b"1"))
    read = read_all(cluster, cluster.topics.reading("A"), to_high=True)
    assert list(read), "the record is there"
    one = nightly(cluster, topic)
    assert one.standing.position == 0
    one.commit(outgoing(topic, b"1"))
    one.close()
    assert [message.value() for message in read_all(cluster, topic, to_high=True)] == [b"1"]


@pytest.mark.parametrize("name", ["", ".x", "a b", "a/b", "x" * 101])
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid job name"):
        Job(Cluster("127.0.0.1:1"), name, plan="", anchor="t", now=0)
