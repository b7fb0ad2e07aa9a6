"""Records put back: the same in the same order, each once, whatever is killed meanwhile."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from streams.capture import CaptureReader, Record, TimestampType
from streams.capture.job import Job
from streams.capture.raw import RawPlan, demand_room, plan_raw, put_back
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, KafkaException, create, read_highs, topic_ids
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.cli.test_capture import APPEND, AT, by_place, captured
from tests.command import hopline
from tests.running import eventually, until_stable
from tests.workers.rig import pause

KEPT = {"retention.ms": "-1"}
"""The records are of a January that may be long ago."""
MANY = [("h", None), ("h", b""), ("a", b"1"), ("h", b"\xff\0")]


def specs(topics: Topics) -> list[TopicSpec]:
    return [
        TopicSpec(topics.cmd("A"), "cmd", 3, KEPT),
        TopicSpec(topics.queue("A", "D", "Q"), "queue", 1, KEPT),
        TopicSpec(topics.event, "event", 1, {**KEPT, **APPEND}),
        TopicSpec(topics.catalog, "catalog", 1, KEPT),
    ]


def written(cluster: Cluster) -> None:
    """Write what a system might, in transactions of which some are aborted."""
    topics = cluster.topics
    producer = cluster.producer(transactional_id=f"{topics.prefix}p")
    producer.init_transactions()
    for n in range(40):
        producer.begin_transaction()
        for value in (None, b"", b"%d" % n, b"\xff" * 3_000):
            for headers in ([], MANY):
                key = (None, b"", b"k")[n % 3]
                producer.produce(
                    topics.cmd("A"), value, key, n % 3, timestamp=AT - n, headers=headers
                )
        producer.produce(topics.queue("A", "D", "Q"), b"%d" % n, timestamp=AT + n)
        producer.produce(topics.event, b"%d" % n, timestamp=AT)
        producer.produce(topics.catalog, b"object", b"key")
        producer.flush()
        (producer.abort_transaction if n % 7 == 6 else producer.commit_transaction)()
    until_stable(cluster, *[spec.name for spec in specs(topics)])


def wipe(cluster: Cluster) -> None:
    """Delete the topics and make them anew."""
    wanted = specs(cluster.topics)
    names = [spec.name for spec in wanted]
    before = topic_ids(cluster, names)
    admin = cluster.admin()  # kept: who lets go of it cancels what it was asked
    for future in admin.delete_topics(names).values():
        future.result()

    def anew() -> bool:
        create(cluster, wanted)
        return not set(topic_ids(cluster, names).values()) & set(before.values())

    def led() -> bool:
        try:
            return bool(read_highs(cluster, names))
        except KafkaException:  # a topic is there before its leader is
            return pause()

    eventually(anew, "new topics")
    eventually(led, "their leaders")


def started_job(cluster: Cluster, plan: RawPlan, name: str = "job") -> Job:
    return Job(cluster, name, plan=plan.name, anchor=min(plan.topics), now=AT)


def comparable(records: list[Record]) -> dict[tuple[str, int], list[Record]]:
    """Return records without what is Kafka's own: offsets, and times that a topic gives."""
    return {
        place: [
            replace(one, offset=0, timestamp=0)
            if one.timestamp_type is TimestampType.LOG_APPEND_TIME
            else replace(one, offset=0)
            for one in found
        ]
        for place, found in by_place(records).items()
    }


@pytest.mark.long
def test_what_is_put_back_is_captured_alike(
    tmp_path: Path, kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.capture.raw._RECORDS", 50)
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, specs(cluster.topics))
    written(cluster)
    captured(cluster, tmp_path / "before")
    reader = CaptureReader(tmp_path / "before")
    plan = plan_raw(reader, unique)
    with pytest.raises(UsageError, match="already has records"):
        demand_room(cluster, plan, resumed=False)
    wipe(cluster)
    demand_room(cluster, plan, resumed=False)

    class Killed(Exception):
        pass

    def die(_: int) -> None:
        raise Killed

    settled = 0
    for _ in range(3):  # after a commit, and before it could be reported
        job = started_job(cluster, plan)
        assert job.standing.position == settled
        demand_room(cluster, plan, resumed=job.resumed)
        with pytest.raises(Killed):
            put_back(reader, job, unique, report=die)
        settled += 50
    outcome = put_back(reader, started_job(cluster, plan), unique)
    assert (outcome.done, outcome.now) == (plan.records, plan.records - 150)
    assert not outcome.refused
    assert put_back(reader, started_job(cluster, plan), unique).now == 0
    until_stable(cluster, *[spec.name for spec in specs(cluster.topics)])
    captured(cluster, tmp_path / "after")
    before, after = list(reader), list(CaptureReader(tmp_path / "after"))
    catalog = [one for one in before if one.topic == cluster.topics.catalog]
    assert plan.left == {cluster.topics.catalog: len(catalog)}
    assert plan.stamped == len([one for one in before if one.topic == cluster.topics.event])
    expected = comparable([one for one in before if one not in catalog])
    assert comparable(after) == expected
    assert sum(map(len, expected.values())) == plan.records > 300


def test_another_prefix_and_too_few_partitions(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, specs(cluster.topics))
    written(cluster)
    captured(cluster, tmp_path / "c")
    reader = CaptureReader(tmp_path / "c")
    there = Cluster(kafka, Topics(f"t{uuid.uuid4().hex[:12]}."))
    plan = plan_raw(reader, there.topics.prefix)
    with pytest.raises(SurroundingsError, match="does not exist, but records belong to"):
        demand_room(there, plan, resumed=False)
    create(there, [replace(spec, partitions=1) for spec in specs(there.topics)])
    with pytest.raises(SurroundingsError, match=r"has 1 partition, but .* partition 2"):
        demand_room(there, plan, resumed=False)
    assert plan.name != plan_raw(reader, unique).name


@pytest.mark.long
def test_the_command_reports_its_progress(tmp_path: Path, kafka: str, unique: str) -> None:
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, specs(cluster.topics))
    written(cluster)
    captured(cluster, tmp_path / "c")
    count = plan_raw(CaptureReader(tmp_path / "c"), unique).records
    words = "replay", tmp_path / "c", "--raw", "--bootstrap", kafka
    code, _, err = hopline(*words)
    assert (code, "only into empty topics" in " ".join(err.split())) == (2, True), err
    copy = Cluster(kafka, Topics(f"t{uuid.uuid4().hex[:12]}."))
    create(copy, specs(copy.topics))
    there = "--prefix", copy.topics.prefix
    code, out, err = hopline(*words, *there, "--dry-run")
    assert (code, f"{count} records would be restored into 3 topics:" in out) == (0, True), err
    for now in (count, 0):
        code, out, err = hopline(*words, *there, "--job", "once", "--format", "json")
        assert code == 0, err
        answer = json.loads(out)
        assert (answer["records"], answer["done"], answer["now"]) == (count, count, now)
    code, out, _ = hopline(*words, *there, "--job", "once")
    assert code == 0
    assert f"{count} records were restored into 3 topics (job once)." in out
    assert "with the current time, because their topic uses LogAppendTime." in out
    assert "Left out, because every cluster has its own:" in out
    until_stable(copy, copy.topics.cmd("A"))
    captured(copy, tmp_path / "copy", "--topic", "cmd.*")
    renamed = [
        replace(one, topic=one.topic.replace(unique, copy.topics.prefix))
        for one in CaptureReader(tmp_path / "c")
        if one.topic == cluster.topics.cmd("A")
    ]
    assert comparable(list(CaptureReader(tmp_path / "copy"))) == comparable(renamed)
    code, _, err = hopline(*words, "--asap")
    assert (code, "--raw allows only" in err) == (2, True)
