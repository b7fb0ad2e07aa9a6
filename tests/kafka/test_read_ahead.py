"""How much Kafka's client reads ahead, whatever the records inflate to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from streams.kafka import Cluster, create
from streams.wire import Topics
from streams.wire.specs import TopicSpec

HEADER = b"\0" * (4 << 20)
RECORDS = 200
READER = """
import re, sys, time
from pathlib import Path
from confluent_kafka import TopicPartition
from streams.kafka import Cluster
consumer = Cluster(sys.argv[1]).consumer(sys.argv[2])
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


def test_a_slow_reader_does_not_hold_all_large_headers(kafka: str, unique: str) -> None:
    """What is read ahead is one fetch: the limits in bytes of the client count no headers."""
    cluster = Cluster(kafka, Topics(unique))
    create(cluster, [TopicSpec(cluster.topics.event, "event", 1, {"compression.type": "lz4"})])
    producer = cluster.producer(message_max_bytes=100_000_000, batch_num_messages=1)
    for _ in range(RECORDS):
        producer.produce(cluster.topics.event, value=b"x", headers=[("filler", HEADER)])
    assert producer.flush(60) == 0
    read = subprocess.run(
        [sys.executable, "-c", READER, kafka, cluster.topics.event],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    assert int(read.stdout) < RECORDS * len(HEADER) // 2 >> 20
