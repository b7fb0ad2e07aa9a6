"""Sessions of messages while time goes on: they end by heartbeats, and the past stays past."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streams.monitor import MonitorConfig
from streams.monitor.queries import queries
from streams.monitor.run import _note
from streams.monitor.watch import Watch
from streams.store import MissingMessage, Report, Store
from streams.store.freshness import ARRIVALS
from streams.wire import Topics
from tests.monitor.records import NOON, Delivery, Stored, create_topics, produce

HOUR = 3_600_000


@pytest.fixture
def config(kafka: str, unique: str, tmp_path: Path) -> MonitorConfig:
    topics = Topics(unique)
    create_topics(kafka, topics.out("ServerA"), topics.event, topics.presence)
    return MonitorConfig(bootstrap=kafka, prefix=unique, checkpoint=tmp_path)


def _sent(config: MonitorConfig, number: int, at: int) -> Stored:
    message = replace(Delivery(id=number), enqueued_at=at, sent_at=at + 1)
    topic = Topics(config.prefix).out("ServerA")
    return Stored(message.transmitted, b"", at, topic, message.key)


def _heartbeat(config: MonitorConfig, at: int) -> Stored:
    return Stored([], b"", at, Topics(config.prefix).presence, b"ServerA")


def _read_on(spark: SparkSession, config: MonitorConfig, store: Store, *records: Stored) -> None:
    produce(config.bootstrap, records)
    (query,) = [one for one in queries(spark, config, store) if one.name == "messages"]
    running = query.start(config.checkpoint.as_uri(), available_now=True)
    running.awaitTermination()
    watch = Watch(running)
    watch.look(store)
    _note([watch], store, store.reached(), config.horizon)


def _missing(store: Store) -> list[str]:
    return [row.message_id for row in store.read(MissingMessage)]


@pytest.mark.long
def test_heartbeats_end_sessions_and_past_records_are_late(
    spark: SparkSession, config: MonitorConfig, tmp_path: Path
) -> None:
    with Store.open(f"sqlite:///{tmp_path}/monitor.sqlite") as store:
        first, old, new = (str(uuid.UUID(int=number)) for number in (1, 2, 3))
        _read_on(spark, config, store, _sent(config, 1, NOON + 2 * HOUR))
        assert _missing(store) == []
        # Nothing else is written: a heartbeat, and any next record, end the session.
        _read_on(spark, config, store, _heartbeat(config, NOON + 3 * HOUR))
        _read_on(spark, config, store, _heartbeat(config, NOON + 3 * HOUR + 1))
        assert _missing(store) == [first]
        evaluated = NOON + 3 * HOUR - config.late - config.horizon
        assert store.reached()[ARRIVALS] == evaluated, "Spark reports the watermark of its batch"
        # A record of long ago is late, and moves nothing; one of now is not.
        _read_on(spark, config, store, _sent(config, 2, NOON), _sent(config, 3, NOON + 3 * HOUR))
        assert Report(store).late() == {"messages": 1}
        for later in (4, 5):
            _read_on(spark, config, store, _heartbeat(config, NOON + later * HOUR))
        assert sorted(_missing(store)) == [first, new]
        assert old not in _missing(store)
