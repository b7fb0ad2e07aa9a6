"""Receive, process, send in one transaction: both halves of it happen, or neither."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest

from streams.client import Client, Conversation, Exchange, Received
from streams.kafka import AbortedError, FencedError, KafkaError, KafkaException
from tests.running import DEADLINE, System, eventually, running
from tests.workers.rig import HookedCluster

AT_A, AT_B = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
SERVICES = ("InitiatorService", "TargetService")


@pytest.fixture
def system(kafka: str, unique: str) -> Iterator[System]:
    with running(kafka, unique, "two_brokers") as found:
        yield found


@pytest.fixture
def client(system: System) -> Iterator[Client]:
    with system.client() as found:
        yield found


def exchange(system: System, name: str = "one", cluster: HookedCluster | None = None) -> Exchange:
    group = f"{system.cluster.topics.prefix}answering"
    return Exchange(
        cluster or system.cluster, *AT_B, "TargetQueue", group, name=name, timeout=DEADLINE
    )


def take(from_: Exchange, top: int = 500) -> list[Received]:
    return list(eventually(lambda: from_.receive(1, top), "messages"))


def asked(client: Client, *questions: bytes) -> list[Conversation]:
    """Begin one dialog, and so one conversation group, for each question."""
    dialogs = [client.begin(*AT_A, *SERVICES) for _ in questions]
    for dialog, question in zip(dialogs, questions, strict=True):
        client.send(dialog, question, wait=True)
    return dialogs


def answers(system: System, count: int) -> list[bytes]:
    return [m.body for m in system.received(*AT_A, "InitiatorQueue", count)]


@pytest.mark.long
def test_what_was_received_and_what_was_said_count_together(system: System, client: Client) -> None:
    asked(client, b"one", b"two")
    with exchange(system) as target:
        for _ in range(2):
            for message in take(target):
                target.send(message.conversation, b"answer to " + message.body)
            target.commit()
    with exchange(system) as target:
        assert target.receive(0.5) == ()
    assert sorted(answers(system, 2)) == [b"answer to one", b"answer to two"]


@pytest.mark.long
def test_a_rollback_takes_back_both(system: System, client: Client) -> None:
    asked(client, b"one")
    with exchange(system) as target:
        [message] = take(target)
        target.send(message.conversation, b"wrong")
        target.rollback()
        [again] = take(target)
        assert again == message
        target.send(message.conversation, b"right")
        target.commit()
    assert answers(system, 1) == [b"right"]


@pytest.mark.long
def test_what_was_received_out_of_order_does_not_come_again(system: System, client: Client) -> None:
    """The rest of what was received stands beside the offset in Kafka's transaction as well."""
    first, second, third = asked(client, b"one", b"two", b"three")
    there = Conversation(*AT_B, second.id, is_initiator=False)
    with exchange(system) as target:
        eventually(lambda: target.receive(1, conversation=there), "the second dialog's message")
        target.commit()
    with exchange(system) as target:
        seen = [target.receive(DEADLINE) for _ in range(2)]
    assert [m.conversation.id for [m] in seen] == [first.id, third.id]


@pytest.mark.long
def test_who_is_replaced_under_its_name_can_say_nothing_more(
    system: System, client: Client
) -> None:
    asked(client, b"one")
    with exchange(system) as old:
        [message] = take(old)
        old.send(message.conversation, b"from the old one")
        with exchange(system) as new:
            with pytest.raises(FencedError, match="another process has taken over"):
                old.commit()
            old.close()
            [again] = take(new)
            new.send(again.conversation, b"from the new one")
            new.commit()
    assert answers(system, 1) == [b"from the new one"]


@pytest.mark.long
def test_who_has_lost_the_queue_says_nothing_of_what_came_from_it(
    system: System, client: Client
) -> None:
    """A process that was away so long that its partition is somebody else's by now."""
    asked(client, b"one")
    with exchange(system, "one") as away:
        [message] = take(away)
        away.send(message.conversation, b"late")
        leave(away)
        with exchange(system, "two") as other:
            [again] = take(other)
            other.send(again.conversation, b"in time")
            other.commit()
        with pytest.raises(AbortedError, match="Kafka accepted no record"):
            away.commit()
    assert answers(system, 1) == [b"in time"]


def leave(member: Exchange) -> None:
    """Let the group think that a member is gone, which knows nothing of it."""
    ahead = member._receiver._ahead
    generation = ahead.member
    ahead._consumer.unsubscribe()
    ahead._consumer = Remembering(generation)  # type: ignore[assignment]
    ahead.bereft = False


class Remembering:
    """The member of a group as it was."""

    def __init__(self, generation: object) -> None:
        self.consumer_group_metadata = lambda: generation

    def close(self) -> None:
        """Be gone already."""


@pytest.mark.long
def test_what_kafka_does_not_take_comes_again_and_counts_as_no_rollback(
    system: System, client: Client
) -> None:
    asked(client, b"one")
    hooked = HookedCluster(system.cluster.bootstrap, system.cluster.topics)
    with exchange(system, cluster=hooked) as target:
        [message] = take(target)

        def fail(*_: object) -> None:
            raise KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))

        hooked.hooks["send_offsets_to_transaction"] = fail
        for _ in range(6):
            target.send(message.conversation, b"not taken")
            with pytest.raises(AbortedError):
                target.commit()
            [message] = take(target)
        del hooked.hooks["send_offsets_to_transaction"]
        target.send(message.conversation, b"taken")
        target.commit()
    assert answers(system, 1) == [b"taken"]


# --- a client of many threads --------------------------------------------------------------------


def test_threads_share_a_client_and_each_gets_its_own_answers(system: System) -> None:
    """Order is kept per thread, an answer finds its statement, a refusal the one who waits."""
    count, said = 8, 25
    refused: list[int] = []
    with system.client() as client:

        def talk(number: int) -> None:
            dialog = client.begin(*AT_A, *SERVICES, conversation=uuid.UUID(int=number + 1))
            for n in range(said):
                client.send(dialog, b"%d" % n, wait=n % 5 == 0)
            try:
                client.begin(*AT_A, *SERVICES, conversation=dialog.id)
            except Exception as error:
                refused.append(getattr(error, "number", 0))

        threads = [threading.Thread(target=talk, args=(n,)) for n in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
    got = system.received(*AT_B, "TargetQueue", count * said)
    for number in range(count):
        mine = [m.body for m in got if m.conversation.id == uuid.UUID(int=number + 1)]
        assert mine == [b"%d" % n for n in range(said)]
    assert refused == [2601] * count
