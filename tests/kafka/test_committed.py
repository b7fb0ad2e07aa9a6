"""Committed offsets are read without harm while a coordinator moves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from streams.embedded import Broker
from streams.kafka import TopicPartition, closed, read_notes, read_notes_of, read_positions
from tests.kafka.a_topic import made, write
from tests.running import DEADLINE

READ = """
import sys
from streams.kafka import Cluster, {reader}
cluster = Cluster(sys.argv[1])
for attempt in range(20):
    print({call}, flush=True)
"""
CALLS = {
    "read_positions": "read_positions(cluster, 'group', [sys.argv[2]])",
    "read_notes_of": "read_notes_of(cluster, ['group', 'another'])",
    "read_lags": "read_lags(cluster, {'group': [sys.argv[2]]})",
}


@pytest.mark.long
@pytest.mark.parametrize("reader", CALLS)
def test_a_group_whose_coordinator_is_not_there_yet(reader: str, tmp_path: Path) -> None:
    """Kafka's admin client ends the process in that case (librdkafka issue 5040)."""
    with Broker(tmp_path) as broker:
        cluster, topic = made(broker.bootstrap, "x.")
        write(cluster, topic, 3)
        script = READ.format(reader=reader, call=CALLS[reader])
        done = subprocess.run(
            [sys.executable, "-c", script, broker.bootstrap, topic],
            capture_output=True, text=True, timeout=DEADLINE,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 20


def test_offsets_and_notes_of_one_group_and_of_many(kafka: str, unique: str) -> None:
    cluster, topic = made(kafka, unique)
    write(cluster, topic, 3)
    group = f"{unique}reads"
    consumer = cluster.consumer(group)
    where = TopicPartition(topic, 0, 2, closed("note"))
    consumer.commit(offsets=[where], asynchronous=False)
    consumer.close()
    assert read_notes(cluster, group, [topic]) == {(topic, 0): (2, "note")}
    assert read_positions(cluster, group, [topic, f"{unique}missing"]) == {(topic, 0): 2}
    assert read_notes(cluster, group, [f"{unique}missing"]) == {}
    assert read_notes(cluster, f"{unique}never", [topic]) == {}
    assert read_notes_of(cluster, [group, f"{unique}never"]) == {
        group: {(topic, 0): (2, "note")},
        f"{unique}never": {},
    }
