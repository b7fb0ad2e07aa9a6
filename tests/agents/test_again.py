"""What an agent says has effect once, however often it reads what makes it say it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.errors import Number, SurroundingsError
from streams.kafka import Cluster, TopicPartition, closed, read_notes_of
from tests.agents.rig import (
    AT_B,
    answering,
    answers,
    application,
    make_anew,
    order,
    serving,
    shop,
)
from tests.running import System, eventually, running
from tests.workers.rig import pause

BODIES = [b"%d" % n for n in range(10)]
ANSWERS = [f"{n}!" for n in range(10)]


@pytest.fixture
def system(kafka: str, unique: str, tmp_path: Path) -> Iterator[System]:
    with running(kafka, unique, shop(tmp_path)) as made:
        yield made


def rewind(cluster: Cluster, group: str, topic: str) -> None:
    """Let a group read a topic from its beginning."""
    consumer = cluster.consumer(group)
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()


@pytest.mark.long
def test_what_is_read_again_is_said_without_effect(system: System) -> None:
    """Also after the dialog is gone: what a closed dialog would have refused is passed over."""
    seen: list[bytes] = []
    with system.client() as client:
        with serving(answering(application(system), seen)) as first:
            dialog = order(client, *BODIES)
            assert answers(system, 10) == ANSWERS
        rewind(system.cluster, first.app.conf.id, system.cluster.topics.queue(*AT_B, "OrderQueue"))
        with serving(answering(application(system), seen)):
            eventually(lambda: len(seen) >= 20 or pause(), "it reads everything again")
            client.send(dialog, b"last", type="//shop/Order")
            assert answers(system, 11) == [*ANSWERS, "last!"]
    assert seen == [*BODIES, *BODIES, b"last"]
    events = [e["event"] for e in system.snapshot(system.cluster.topics.event)]
    # a slow machine may send a copy again, which the target drops
    refused = [e for e in events if e.get("error") not in (None, 0, Number.DUPLICATE)]
    assert refused == []


def test_applications_on_one_queue_all_answer(system: System) -> None:
    """Each reads the queue for itself, and what one has said is nothing to the other."""
    with (
        system.client() as client,
        serving(answering(application(system, "orders"))),
        serving(answering(application(system, "audit"), mark=b"?")),
    ):
        order(client, b"a", b"b")
        assert sorted(answers(system, 4)) == ["a!", "a?", "b!", "b?"]


@pytest.mark.long
def test_a_topic_that_is_made_anew_is_another_source(system: System) -> None:
    """Its offsets begin at 0 again, below those of what was said before."""
    topic = system.cluster.topics.queue(*AT_B, "OrderQueue")
    with system.client() as client:
        with serving(answering(application(system))):
            order(client, *BODIES)
            assert answers(system, 10) == ANSWERS
        make_anew(system, topic)
        with serving(answering(application(system))):
            order(client, b"anew")
            assert answers(system, 11) == [*ANSWERS, "anew!"]


@pytest.mark.long
def test_a_topic_that_is_made_anew_under_a_running_agent_stops_it(system: System) -> None:
    """It would wait for an offset that lies far away, and take what comes for what it has seen."""
    topic = system.cluster.topics.queue(*AT_B, "OrderQueue")
    with system.client() as client:
        app = answering(application(system))
        with pytest.raises(SurroundingsError, match="has been recreated"), serving(app) as thread:
            order(client, *BODIES)
            assert answers(system, 10) == ANSWERS
            make_anew(system, topic)
            order(client, b"anew")
            thread.join()
        with serving(answering(application(system))):
            assert answers(system, 11) == [*ANSWERS, "anew!"]


@pytest.mark.long
def test_who_keeps_its_name_is_dealt_the_topic_that_is_made_anew(system: System) -> None:
    """Kafka hands it what it was dealt last: nothing, where there was no topic at that time."""
    topic, admin = system.cluster.topics.queue(*AT_B, "OrderQueue"), system.cluster.admin()
    app = answering(application(system, member="one"))

    def assigned() -> int | None:
        """Return how many partitions the member has; ``None``: its session is over."""
        group = app.conf.id
        members = admin.describe_consumer_groups([group])[group].result().members
        return sum(len(m.assignment.topic_partitions) for m in members) if members else None

    def until_nothing_is_assigned() -> None:
        eventually(lambda: assigned() == 0 or pause(), "nothing is dealt")

    with system.client() as client:
        with pytest.raises(SurroundingsError, match="has been recreated"), serving(app) as thread:
            order(client, *BODIES)
            assert answers(system, 10) == ANSWERS
            make_anew(system, topic, until_nothing_is_assigned)
            order(client, b"anew")
            thread.join()
        assert assigned() == 0
        with serving(answering(application(system, member="one"))):
            assert answers(system, 11) == [*ANSWERS, "anew!"]


@pytest.mark.long
def test_an_offset_of_another_topic_is_the_beginning(system: System) -> None:
    """Also where the offset of the former one was committed when there was another already."""
    cluster, topic = system.cluster, system.cluster.topics.queue(*AT_B, "OrderQueue")
    with system.client() as client:
        with serving(answering(application(system))) as thread:
            order(client, *BODIES)
            assert answers(system, 10) == ANSWERS
            group = thread.app.conf.id
        [(offset, note)] = read_notes_of(cluster, [group])[group].values()
        make_anew(system, topic)
        consumer = cluster.consumer(group)
        stale = TopicPartition(topic, 0, offset, closed(note))
        consumer.commit(offsets=[stale], asynchronous=False)
        consumer.close()
        order(client, b"anew")
        with serving(answering(application(system))):
            assert answers(system, 11) == [*ANSWERS, "anew!"]
