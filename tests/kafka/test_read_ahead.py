"""How much Kafka's client reads ahead, whatever the records inflate to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streams.kafka import (
    PROMPT,
    UNCOMPRESSED,
    Cluster,
    KafkaException,
    Statistics,
    TopicPartition,
    create,
)
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.running import eventually
from tests.workers.rig import pause

HEADER = b"\0" * (4 << 20)
RECORDS = 200
READER = """
import re, sys, time
from pathlib import Path
from confluent_kafka import TopicPartition
from streams.kafka import PROMPT, Cluster
consumer = Cluster(sys.argv[1]).consumer(sys.argv[2], **(PROMPT if "PROMPT" in sys.argv else {}))
consumer.assign([TopicPartition(sys.argv[2], 0, 0)])
assert consumer.poll(30) is not None
before, quiet = 0, 0
while quiet < 20:
    time.sleep(0.05)
    status = Path("/proc/self/status").read_text("ascii", "replace")
    now = int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1])
    before, quiet = now, quiet + 1 if now == before else 0
print(now // 1024)
"""
"""Reads one record, waits until its memory does not grow any more, and prints that, in MB."""


@pytest.mark.parametrize("prefetch", [pytest.param("", marks=pytest.mark.long), "PROMPT"])
def test_a_slow_reader_does_not_hold_all_large_headers(
    kafka: str, unique: str, prefetch: str
) -> None:
    """What is read ahead is one fetch: the limits in bytes of the client count no headers."""
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, [TopicSpec(cluster.topics.event, "event", 1, {"compression.type": "lz4"})])
    producer = cluster.producer(message_max_bytes=100_000_000, batch_num_messages=1)
    for _ in range(RECORDS):
        producer.produce(cluster.topics.event, value=b"x", headers=[("filler", HEADER)])
    assert producer.flush(60) == 0
    read = subprocess.run(
        [sys.executable, "-c", READER, kafka, cluster.topics.event, prefetch],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    assert int(read.stdout) < RECORDS * len(HEADER) // 2 >> 20


def test_a_response_for_many_partitions_has_a_megabyte(kafka: str, unique: str) -> None:
    """Each partition alone has a megabyte, which is also the limit of a partition's part."""
    cluster, partitions, held = Cluster(kafka, Topics(unique)), 6, list[int]()
    topic = cluster.topics.event
    create(cluster, [TopicSpec(topic, "event", partitions, {"compression.type": "uncompressed"})])
    producer = cluster.producer(batch_size=100_000, **UNCOMPRESSED)
    for number in range(partitions * 100):
        producer.produce(topic, bytes(10_000), partition=number % partitions)
    assert producer.flush(60) == 0

    def note(report: Statistics) -> None:
        places = report["topics"].get(topic, {"partitions": {}})["partitions"].values()
        # all partitions share a queue, whose size is reported for each of them
        held.extend(int(place["fetchq_size"]) for place in places)

    consumer = cluster.consumer(unique, stats=note, statistics_interval_ms=10)
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    for _ in range(partitions * 100):
        assert consumer.poll(30) is not None
        pause()
    consumer.close()
    assert 0 < max(held) < 3 << 19, "bytes that the client held"


@pytest.mark.parametrize(
    "properties",
    [
        {"message.max.bytes": "2000000"},
        {"fetch.max.bytes": "300000"},
        {"message.max.bytes": "200000", "fetch.max.bytes": "300000"},
    ],
)
def test_the_limits_of_producers_and_consumers_fit_together(properties: dict[str, str]) -> None:
    """The client refuses a consumer whose ``fetch.max.bytes`` is below ``message.max.bytes``."""
    Cluster("127.0.0.1:1", properties=properties).consumer("x").close()


def test_a_limit_that_is_no_number_is_reported_by_the_client() -> None:
    with pytest.raises(KafkaException, match=r"fetch\.max\.bytes"):
        Cluster("127.0.0.1:1", properties={"fetch.max.bytes": "many"}).consumer("x")


def test_records_of_one_partition_do_not_delay_another_one(kafka: str, unique: str) -> None:
    """A fetch includes every partition although the application has not taken some records."""
    cluster = Cluster(kafka, Topics(unique))
    topic = cluster.topics.event
    create(cluster, [TopicSpec(topic, "event", 5, {})])
    consumer = cluster.consumer(unique, **PROMPT)
    consumer.assign([TopicPartition(topic, number, 0) for number in range(5)])
    producer = cluster.producer()

    def write(number: int) -> None:
        producer.produce(topic, b"x", partition=number)
        assert producer.flush(30) == 0

    def end_is(number: int, end: int) -> bool:
        """Return whether the client knows this end, which it learns from fetches."""
        place = TopicPartition(topic, number)
        return bool(consumer.get_watermark_offsets(place, cached=True)[1] == end)

    write(0)
    assert consumer.poll(30) is not None  # the client begins to fetch
    for number in range(1, 5):  # the application takes none of these records
        write(number)
        eventually(lambda n=number: end_is(n, 1) or pause(), "it is fetched")
    consumer.close()
