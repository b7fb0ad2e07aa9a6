"""Timestamps that a reader cannot convert never become records."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from streams.kafka import Cluster, KafkaError, create, read_all
from streams.kafka.compare_topics import compare
from streams.times import AGE, plausible
from streams.wire import Topics, specs
from streams.wire.specs import KINDS, spec

HOUR = 3_600_000
DAY = 24 * HOUR


def sent(cluster: Cluster, topic: str, stamp: int) -> KafkaError | None:
    """Write a record that the broker need not compress again; return why it was rejected."""
    errors: list[KafkaError | None] = []
    producer = cluster.producer(delivery_report_only_error=False)
    producer.produce(
        topic, bytes(1000), b"k", timestamp=stamp, on_delivery=lambda error, _: errors.append(error)
    )
    assert producer.flush(30) == 0
    [error] = errors
    return error


@pytest.mark.long
def test_a_record_has_a_time_that_spark_can_convert(kafka: str, unique: str) -> None:
    """Its Kafka source fails if microseconds do not fit into 64 bits, again and again."""
    cluster, now = Cluster(kafka, Topics(unique)), time.time_ns() // 1_000_000
    topics = [
        spec(f"{unique}{kind}", kind)
        for kind, config in KINDS.items()
        if "message.timestamp.type" not in config
    ]
    assert len(topics) == len(KINDS) - 3
    create(cluster, topics)
    for each in topics:
        for stamp in (-9_300_000_000_000_000, 1, now - AGE - 2 * DAY, now + 2 * HOUR):
            error = sent(cluster, each.name, stamp)
            assert error is not None
            assert error.code() == KafkaError.INVALID_TIMESTAMP
        for stamp in (now - AGE, now + HOUR // 2):
            assert sent(cluster, each.name, stamp) is None


def test_apply_corrects_a_topic_that_accepts_any_time(kafka: str, unique: str) -> None:
    """It was created by an earlier version; workers start all the same."""
    cluster = Cluster(kafka, Topics(unique))
    wanted = spec(f"{unique}out", "out")
    anything = {name: str(2**63 - 1) for name in specs._PLAUSIBLE}
    create(cluster, [replace(wanted, config={**wanted.config, **anything})])
    assert sent(cluster, wanted.name, -9_300_000_000_000_000) is None
    assert compare(cluster, [wanted.safe]) == []
    [change] = create(cluster, [wanted])
    assert change.startswith(f"corrected {wanted.name} (message.timestamp.")
    error = sent(cluster, wanted.name, -9_300_000_000_000_000)
    assert error is not None
    assert error.code() == KafkaError.INVALID_TIMESTAMP


def test_a_broker_without_these_settings_gets_the_topic(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka has them since 3.6; a setting that no version has is refused in the same way."""
    monkeypatch.setattr(specs, "_PLAUSIBLE", {"message.timestamp.never.max.ms": "1"})
    cluster = Cluster(kafka, Topics(unique))
    wanted = spec(f"{unique}out", "out", 2)
    assert create(cluster, [wanted]) == [f"created {wanted.name}"]
    assert compare(cluster, [wanted]) == []
    assert list(read_all(cluster, wanted.name)) == []


def test_a_wrong_setting_of_every_version_is_an_error(kafka: str, unique: str) -> None:
    """Only the settings that older brokers lack are left out."""
    cluster = Cluster(kafka, Topics(unique))
    wrong = spec(f"{unique}out", "out")
    wrong = replace(wrong, config={**wrong.config, "cleanup.policy": "sometimes"})
    with pytest.raises(Exception, match="cannot be created"):
        create(cluster, [wrong])
    with pytest.raises(Exception, match="cannot be created"):
        create(cluster, [wrong.old])


@pytest.mark.parametrize(
    ("at", "found"), [(-(2**62), 10), (9, 10), (10, 10), (AGE + 10, AGE + 10), (2**62, AGE + 10)]
)
def test_another_time_becomes_the_nearest_that_is_accepted(at: int, found: int) -> None:
    assert plausible(at, AGE + 10) == found
