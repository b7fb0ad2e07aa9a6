"""Records and offsets that are committed together: what happens where Kafka's client is stuck."""

from __future__ import annotations

from typing import Any

import pytest

from streams.kafka import AbortedError, Outgoing, TopicPartition, Transactor, create, read_all
from streams.kafka.patience import in_time
from streams.wire import Topics
from streams.wire.specs import TopicSpec
from tests.workers.rig import Gate, HookedCluster, eventually


def test_a_client_that_does_not_come_back_is_replaced_and_the_batch_aborted(
    kafka: str, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can be tried again, by the same Transactor; what the former client says comes too late."""
    monkeypatch.setattr("streams.kafka.transactor.in_time", lambda call, _: in_time(call, 1.0))
    cluster, topic = HookedCluster(kafka, Topics(unique)), f"{unique}topic"
    create(cluster, [TopicSpec(topic, "cmd")])
    consumer = cluster.consumer(f"{unique}group")
    consumer.subscribe([topic])
    eventually(lambda: consumer.poll(0.05) or consumer.memberid(), "a membership")
    stuck, offsets = Gate(), [TopicPartition(topic, 0, 0)]

    def once(method: Any, *args: Any) -> Any:
        cluster.hooks.clear()
        return stuck(method, *args)

    transactor = Transactor(cluster, "one")
    cluster.hooks["send_offsets_to_transaction"] = once
    member = consumer.consumer_group_metadata()
    with pytest.raises(AbortedError, match="no answer within 1 s"):
        transactor.commit([Outgoing(topic, b"k", b"first", [])], offsets, member)
    transactor.commit([Outgoing(topic, b"k", b"again", [])], offsets, member)
    stuck.open()
    consumer.close()
    assert [m.value() for m in read_all(cluster, topic)] == [b"again"]
