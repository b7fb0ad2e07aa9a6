"""The figures of a worker's Kafka clients, whatever these report."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from streams.kafka import Cluster, ConsumerHealth, StatisticsReader
from streams.workers.event_counts import Traffic
from tests.running import eventually

PRODUCER: dict[str, Any] = {
    "type": "producer",
    "tx_bytes": 300,
    "txmsg_bytes": 200,
    "msg_size": 100,
    "brokers": {"a:9092/1": {"state": "UP"}, "b:9092/2": {"state": "DOWN"}},
    "topics": {},
}
CONSUMER: dict[str, Any] = {
    **PRODUCER,
    "type": "consumer",
    "rx_bytes": 400,
    "topics": {
        "in": {
            "partitions": {
                "0": {"next_offset": 7, "fetchq_cnt": 0, "fetch_state": "none", "consumer_lag": 5},
                "-1": {
                    "next_offset": 0,
                    "fetchq_cnt": 0,
                    "fetch_state": "none",
                    "consumer_lag": -1,
                },
            }
        }
    },
}


def figures(traffic: Traffic) -> tuple[object, ...]:
    return (
        traffic.received,
        traffic.sent,
        traffic.messages_sent,
        traffic.pending,
        traffic.connections,
        traffic.lag,
    )


def test_both_clients_are_counted() -> None:
    traffic = Traffic(wanted=True)
    assert traffic.writer is not None and traffic.reader is not None
    traffic.writer(PRODUCER)
    traffic.reader(CONSUMER)
    assert figures(traffic) == (400, 300, 200, 100, 2, {"in": 5})
    assert Traffic().writer is Traffic().reader is None


@pytest.mark.parametrize(
    "strange",
    [
        "",
        "null",
        "[]",
        "[" * 100_000,
        "1" * 10_000,
        "{}",
        '{"brokers": {"a"b:9092/1": {}}, "topics": {}}',
        *(json.dumps({**CONSUMER, name: 1}) for name in ("brokers", "topics")),
        json.dumps({**PRODUCER, "brokers": [{}]}),
        json.dumps({**PRODUCER, "brokers": {"a:9092/1": "UP"}}),
        json.dumps({**CONSUMER, "topics": {"in": {"partitions": {"0": {}}}}}),
    ],
    ids=lambda text: text[:60],
)
def test_a_report_that_cannot_be_read_is_ignored(
    strange: str, caplog: pytest.LogCaptureFixture
) -> None:
    traffic = Traffic(wanted=True)
    assert traffic.writer is not None
    for read in (traffic.writer, ConsumerHealth(Cluster("127.0.0.1:1"), traffic.reader).report):
        reader = StatisticsReader(read)
        caplog.clear()
        for report in (strange, strange):
            reader(report)
        assert len(caplog.messages) <= 1
        reader(json.dumps(CONSUMER))
    assert figures(traffic) == (400, 300, 200, 100, 1, {"in": 5})


def test_a_name_that_the_client_does_not_escape_ends_no_worker(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's report has the names of brokers, and is then no JSON."""
    monkeypatch.setattr("streams.kafka.cluster.STATISTICS_EVERY", 20)
    cluster, traffic = Cluster('127.0.0.1:1,127.0.0.1"x:1'), Traffic(wanted=True)
    producer = cluster.producer(stats=traffic.writer)
    eventually(lambda: producer.poll(0.02) or logs(caplog), "a report is logged")
    caplog.clear()
    consumer = cluster.consumer("g", stats=ConsumerHealth(cluster, traffic.reader).report)
    with contextlib.closing(consumer):
        eventually(lambda: consumer.poll(0.02) or logs(caplog), "a report is logged")


def logs(caplog: pytest.LogCaptureFixture) -> bool:
    """Tell whether the log has a line about statistics."""
    return any("statistics of Kafka's client cannot be read" in line for line in caplog.messages)
