"""Records and offsets that are committed together: what happens where Kafka's client is stuck."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from streams.errors import SurroundingsError
from streams.kafka import (
    AbortedError,
    KafkaError,
    KafkaException,
    Outgoing,
    StuckError,
    TopicPartition,
    Transactor,
    create,
    patience,
    read_all,
)
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.running import DEADLINE
from tests.workers.rig import Gate, HookedCluster, eventually


@pytest.mark.long
@pytest.mark.parametrize("for_good", [False, True])
def test_a_client_that_does_not_come_back_is_replaced(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch, for_good: bool
) -> None:
    """What the former client says comes too late; the next one says it again, if there is time."""
    monkeypatch.setattr(patience, "FIRST", 0.5)
    cluster, topic = HookedCluster(kafka, Topics(unique)), f"{unique}topic"
    create(cluster, [TopicSpec(topic, "cmd")])
    consumer = cluster.consumer(f"{unique}group")
    consumer.subscribe([topic])
    eventually(lambda: consumer.poll(0.05) or consumer.memberid(), "a membership")
    stuck, offsets = Gate(), [TopicPartition(topic, 0, 0)]

    def once(method: Any, *args: Any) -> Any:
        if not for_good:
            cluster.hooks.clear()
        return stuck(method, *args)

    transactor = Transactor(cluster, "one", timeout=3.0 if for_good else DEADLINE)
    cluster.hooks["send_offsets_to_transaction"] = once
    member = consumer.consumer_group_metadata()
    first = [Outgoing(topic, b"k", b"first", [])]
    if for_good:
        with pytest.raises(AbortedError, match="no answer within"):
            transactor.commit(first, offsets, member)
        cluster.hooks.clear()
        transactor._timeout = DEADLINE  # the next call is not the one that gives up
    else:
        transactor.commit(iter(first), offsets, member)
    transactor.commit([Outgoing(topic, b"k", b"next", [])], offsets, member)
    stuck.open()
    consumer.close()
    wanted = [b"next"] if for_good else [b"first", b"next"]
    assert [m.value() for m in read_all(cluster, topic, to_high=True)] == wanted


def test_who_may_not_begin_is_told_so_and_not_that_kafka_is_away(kafka: str, unique: str) -> None:
    cluster = HookedCluster(kafka, Topics(unique))

    def refuse(*_: Any) -> None:
        raise KafkaException(KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))

    cluster.hooks["init_transactions"] = refuse
    with pytest.raises(SurroundingsError, match=r"denied the request: .*Transactional") as refused:
        Transactor(cluster, "one")
    assert "hopline acl" in refused.value.remedy and "gave up" not in refused.value.message


def test_patience_grows_with_each_call_that_is_stuck_and_is_as_before_when_one_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[float] = []
    stuck = [True, True, True, True, False, True]

    def spy(call: Any, seconds: float) -> None:
        given.append(seconds)
        if stuck[len(given) - 1]:
            raise StuckError

    monkeypatch.setattr(patience, "in_time", spy)
    tried = patience.Patience()
    for fails in stuck:
        with pytest.raises(StuckError) if fails else nullcontext():
            tried.call(lambda: None)
    assert given == [3.0, 6.0, 12.0, 24.0, 24.0, 3.0]
