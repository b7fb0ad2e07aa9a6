"""Processes without work for longer than Kafka remembers their transactional and producer ids.

Kafka keeps transactional ids for a week and producer ids for a day; this broker keeps both for two
seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.embedded import Beside, Broker
from streams.protocol import Limits
from tests.remembering import has_transactional_id, producer_ids
from tests.workers.rig import Rig, eventually, pair, pause, rig

SOON = {
    "transactional.id.expiration.ms": "2000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
    "producer.id.expiration.ms": "2000",
    "producer.id.expiration.check.interval.ms": "500",
}
PATIENT = Limits(retries=(60_000,))
"""A retry would hide that the first copy was lost."""


@pytest.fixture
def forgetful(tmp_path: Path, unique: str) -> Iterator[Rig]:
    """Return two instances on a broker that soon forgets ids."""
    broker = Broker(tmp_path / "kafka", beside=Beside(properties=SOON))
    broker.start(tied=True)
    try:
        with rig(broker.bootstrap, unique, pair(tmp_path)) as made:
            yield made
    finally:
        broker.stop()


def queued(made: Rig) -> list[bytes | None]:
    queue = made.topics.queue("B", "DatabaseB", "TargetQueue")
    return [message.value() for message in made.records(queue)]


def is_forgotten(made: Rig) -> bool:
    """Return whether Kafka has no id of the workers or the client any more.

    The topics are those that the client, the endpoint workers and the forwarders write.
    """
    made.check()
    names, prefix = made.topics, made.topics.prefix
    topics = [names.cmd("A"), names.out("A"), names.txq("B"), names.inbox("B"), names.ack("A")]
    return not any(producer_ids(made.cluster, topic) for topic in topics) and not any(
        has_transactional_id(made.cluster, f"{prefix}endpoint.{name}.0") for name in ("A", "B")
    )


@pytest.mark.long
def test_a_message_after_an_idle_week_is_delivered_once(forgetful: Rig) -> None:
    for name in ("A", "B"):
        forgetful.endpoint(name, limits=PATIENT)
        forgetful.forwarder(name)
    with forgetful.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        bodies: list[bytes] = []
        for body in (b"before", b"after a week", b"after two weeks"):
            client.send(dialog, body, wait=True)
            bodies.append(body)
            eventually(lambda: queued(forgetful) == bodies or pause(), f"{body!r} arrives")
            eventually(lambda: is_forgotten(forgetful) or pause(), "Kafka has forgotten all ids")
    assert queued(forgetful) == bodies
