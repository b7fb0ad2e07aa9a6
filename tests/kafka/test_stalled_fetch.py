"""A partition that a consumer no longer fetches is told from one that has nothing to read."""

from __future__ import annotations

import contextlib
import json
import uuid
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streams.errors import SurroundingsError
from streams.kafka import (
    Cluster,
    Consumer,
    ConsumerHealth,
    StalledFetch,
    StatisticsReader,
    create,
)
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.running import eventually

PLACE = ("in", 0)


@dataclass
class Watched:
    """A consumer of one partition, under a clock."""

    end: int = 10
    now: float = 100.0
    asked: int = 0
    is_away: bool = False
    passed_on: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stalled = StalledFetch(self.passed_on.append, lambda: self.now)
        self.reader = StatisticsReader(self.stalled.report)

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> Any:
        assert (partition.topic, partition.partition) == PLACE
        self.asked += 1
        if self.is_away:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return 0, self.end

    def report(
        self, offset: int, *, queued: int = 0, state: str = "active", other: int | None = None
    ) -> None:
        about = {"next_offset": offset, "fetchq_cnt": queued, "fetch_state": state}
        partitions = {"0": about, "-1": {**about, "next_offset": -1001, "fetch_state": "none"}}
        if other is not None:
            partitions["1"] = {**about, "next_offset": other}
        self.reader(json.dumps({"topics": {"in": {"partitions": partitions}}}))

    def after(self, seconds: float, offset: int = 5, **about: Any) -> tuple[str, int] | None:
        """Look after so many seconds, when a report has come."""
        self.now += seconds
        self.report(offset, **about)
        return self.look()

    def look(self, *paused: tuple[str, int]) -> tuple[str, int] | None:
        return self.stalled.find(self, paused)


def quiet(watched: Watched) -> Watched:
    """Let the partition be at an offset for half a minute, with one look at the end of it."""
    assert [watched.after(0), watched.after(30)] == [None, None]
    return watched


def test_a_position_that_stays_below_the_end_is_found_at_the_second_look() -> None:
    watched = quiet(Watched())
    assert watched.asked == 1
    assert watched.after(9) is None  # too soon for another look
    assert watched.after(1) == PLACE


def test_reports_are_passed_on() -> None:
    watched = quiet(Watched())
    assert len(watched.passed_on) == 2


def test_nothing_is_asked_while_records_are_fetched() -> None:
    watched = Watched()
    assert [watched.after(15, offset) for offset in range(8)] == [None] * 8
    assert watched.asked == 0


def test_who_has_read_to_the_end_is_well_and_asked_about_every_half_minute() -> None:
    watched = Watched(end=5)
    assert [watched.after(10) for _ in range(10)] == [None] * 10
    assert watched.asked == 3


def test_a_position_that_moves_between_two_looks_is_well() -> None:
    watched = quiet(Watched())
    assert watched.after(10, 6) is None
    assert watched.after(10, 6) is None


def test_an_offset_that_was_behind_long_ago_is_not_the_first_of_two_looks() -> None:
    watched = quiet(Watched())
    watched.end = 5
    assert watched.after(10) is None
    watched.end = 6
    assert watched.after(30) is None
    assert watched.after(10) == PLACE


def test_records_that_the_application_has_yet_to_take_are_not_stalled() -> None:
    watched = Watched()
    assert [watched.after(30, queued=3) for _ in range(4)] == [None] * 4
    assert watched.asked == 0


def test_a_stalled_partition_beside_another_with_much_traffic_is_found() -> None:
    """All partitions share one buffer, so the client never reports that it is empty."""
    watched = Watched()
    seen = [watched.after(10, queued=3, other=number) for number in range(6)]
    assert seen == [None] * 4 + [PLACE, None]


def test_an_application_that_takes_no_record_of_any_partition_stalls_none() -> None:
    """The other partition was fetched last before it began to be slow, after the first one."""
    watched = Watched()
    assert watched.after(0, queued=3, other=1) is None
    assert [watched.after(20, queued=3, other=2) for _ in range(6)] == [None] * 6
    assert watched.asked == 0


def test_a_second_look_needs_another_report() -> None:
    watched = quiet(Watched())
    watched.now += 10
    assert watched.look() is None
    assert watched.after(0) == PLACE


def test_a_partition_that_is_paused_or_not_assigned_is_not_asked_about() -> None:
    watched = Watched()
    for _ in range(4):
        watched.now += 30
        watched.report(5)
        assert watched.look(PLACE) is None
        assert watched.after(30, state="none") is None
    assert watched.asked == 0


def test_a_leader_that_is_away_says_nothing() -> None:
    watched = Watched(is_away=True)
    assert [watched.after(30) for _ in range(4)] == [None] * 4
    watched.is_away = False
    assert [watched.after(10), watched.after(10)] == [None, PLACE]


@pytest.mark.parametrize(
    "rubbish",
    [
        "",
        "{",
        "[]",
        "null",
        "[" * 100_000,
        "1" * 10_000,
        '{"topics": 1}',
        '{"topics": {"in": {}}}',
        '{"topics": {"in": {"partitions": {"zero": {"next_offset": 1, "fetch_state": ""}}}}}',
        '{"topics": {"in": {"partitions": {"0": {"next_offset": 1e999, "fetch_state": ""}}}}}',
        '{"brokers": {"a"b:9092/1": {}}, "topics": {}}',
    ],
    ids=lambda text: text[:20],
)
def test_a_report_that_cannot_be_read_is_ignored_and_logged_once(
    rubbish: str, caplog: pytest.LogCaptureFixture
) -> None:
    watched = quiet(Watched())
    for _ in range(2):
        watched.reader(rubbish)
    assert [r.name for r in caplog.records] == ["hopline.kafka"]
    assert watched.after(10) == PLACE, "from the reports that can be read"


@dataclass
class Readable:
    """A search that finds its partition readable."""

    cluster: Cluster
    place: tuple[str, int]
    start: int
    ended: bool = True

    @property
    def found(self) -> int:
        return self.start


@pytest.mark.parametrize("queued", [0, 3])
def test_a_readable_partition_is_given_up_only_if_the_client_buffers_nothing(
    monkeypatch: pytest.MonkeyPatch, queued: int
) -> None:
    """With more than fifty busy partitions, a response has no room for the others."""
    monkeypatch.setattr("streams.kafka.consumer_health.SilentSearch", Readable)
    watched = Watched()
    health = ConsumerHealth(Cluster("127.0.0.1:1"))
    health._stalled = watched.stalled

    class Reading:
        get_watermark_offsets = watched.get_watermark_offsets
        as_stored = ()

        def next_offset(self, place: tuple[str, int]) -> int:
            return 5

    given_up = []
    for number in range(6):
        watched.now += 10
        watched.report(5, queued=queued, other=number)
        given_up.append(health._find_stalled(Reading()))  # type: ignore[arg-type]
    assert (PLACE in given_up) == (queued == 0)


# --- with Kafka's client -------------------------------------------------------------------------


def produce(cluster: Cluster, topic: str, count: int) -> None:
    """Write so many records, in a transaction: what ends it is the last offset of the log."""
    producer = cluster.producer(transactional_id=f"{topic}-{uuid.uuid4()}")
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(count):
        producer.produce(topic, b"x")
    producer.commit_transaction(30)


def test_the_statistics_of_kafka_s_client(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client whose partition is paused behind the back of its health stands for a stalled one."""
    monkeypatch.setattr("streams.kafka.cluster.STATISTICS_EVERY", 20)
    monkeypatch.setattr("streams.kafka.stalled_fetch._QUIET", 0.5)
    monkeypatch.setattr("streams.kafka.stalled_fetch._EVERY", 0.1)
    cluster, topic = Cluster(kafka, Topics(unique)), f"{unique}stalled"
    create(cluster, [TopicSpec(topic, "event", 1, {})])
    health = ConsumerHealth(cluster)
    consumer = cluster.consumer(f"{unique}g", auto_offset_reset="earliest", stats=health.report)
    with contextlib.closing(consumer):
        place, read = TopicPartition(topic, 0, 0), list[int]()
        consumer.assign([place])
        produce(cluster, topic, 3)
        eventually(lambda: take(consumer, read) or len(read) == 3, "it is read")
        looks = iter(range(20))  # at the end, behind which there is the transaction's end only

        def well() -> bool:
            take(consumer, read)
            health.look(True, consumer)
            return next(looks, None) is None

        eventually(well, "it is looked at")
        consumer.pause([place])
        produce(cluster, topic, 2)

        def is_found() -> bool:
            take(consumer, read)
            try:
                health.look(True, consumer)
            except SurroundingsError as error:
                assert f"{topic}/0 has records" in error.message
                return True
            return False

        eventually(is_found, "it is found")
        assert len(read) == 3


def take(consumer: Consumer, read: list[int]) -> None:
    """Take what has come, and serve the reports."""
    read += [m.offset() or 0 for m in consumer.consume(100, 0.05) if m.error() is None]
