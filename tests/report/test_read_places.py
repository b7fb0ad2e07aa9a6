"""The account where one conversation has several targets, and where topics have partitions."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from streams.kafka import read_all
from streams.report import EndpointKey, Fate, read_facts
from streams.resources import topologies_dir
from streams.topology import load
from tests.endpoints import read_dialogs
from tests.running import eventually, running

SENDER = ("ServerA", "DatabaseA")
TARGETS = (("ServerB", "DatabaseB"), ("ServerC", "DatabaseC"))
SERVICES = ("InitiatorService", "TargetService")


@pytest.mark.long
def test_what_a_refused_target_has_answered_stays_its_own(kafka: str, unique: str) -> None:
    """Both targets answer before the initiator hears of either: one is locked, one refused."""
    with running(kafka, unique, "several_targets", start=False) as system:
        targets = [instance for instance, _ in TARGETS]
        system.start(*targets, roles=("forwarder",))
        initiator = system.start("ServerA")
        with system.client() as client:
            dialog = client.begin(*SENDER, *SERVICES)
            client.send(dialog, b"one", wait=True)
            for instance in targets:
                system.records(system.cluster.topics.inbox(instance))
            initiator.stop()
            system.workers.remove(initiator)
            system.start(*targets, roles=("endpoint",))
            for target in TARGETS:
                [message] = system.received(*target, "TargetQueue", 1)
                client.send(message.conversation, b"answer", wait=True)
            system.start("ServerA")
            system.received(*SENDER, "InitiatorQueue", 1)

            def refused() -> bool:
                states = [
                    endpoint.state.name
                    for instance, _ in TARGETS
                    for _, endpoint in read_dialogs(system.cluster, instance)
                ]
                return sorted(states) == ["CO", "ER"]

            eventually(refused, "one target is told that another was first")
        facts = read_facts(system.cluster, system.topology)
    ledger = facts.balance()
    assert ledger.verdict == "nothing lost"
    assert ledger.accepted == 3
    assert ledger.outcomes[Fate.DELIVERED] == 2
    assert ledger.outcomes[Fate.IN_TRANSMISSION_QUEUE] == 1, "kept until END (9784)"
    [answer] = [d for d in facts.delivered if not d.from_initiator]
    hidden = facts.hiding(answer.message_id).balance()
    assert hidden.verdict == "1 lost", "the refused target's answer does not stand in for it"


@pytest.mark.long
@pytest.mark.parametrize("ended", [False, True])
def test_a_message_whose_contract_the_target_refuses_is_not_lost(
    kafka: str, unique: str, tmp_path: Path, ended: bool
) -> None:
    """The target acknowledges it and has no endpoint: event and Error excuse it, either alone.

    An application that has ended gets no Error. Without event and Error the message is lost.
    """
    text = (topologies_dir() / "two_brokers" / "topology.yaml").read_text()
    asked = text.replace("{queue: TargetQueue}", "{queue: TargetQueue, contracts: []}")
    (tmp_path / "topology.yaml").write_text(asked)
    with running(kafka, unique, tmp_path, start=False) as system, system.client() as client:
        dialog = client.begin(*SENDER, *SERVICES, wait=False)
        client.send(dialog, b"refused")
        if ended:
            client.end(dialog)
        client.flush(30)
        system.start()

        def states() -> list[str]:
            return [e.state.name for _, e in read_dialogs(system.cluster, "ServerA")]

        eventually(lambda: states() in (["ER"], ["CD"]), "its sender is in error, or closed")
        facts = read_facts(system.cluster, system.topology)
    sides = [replace(side, acknowledged=2, discarded_from=None) for side in facts.sides]
    facts = replace(facts, sides=sides)  # whichever of Error and acknowledgement came first
    assert list(facts.unaccepted) == [EndpointKey("ServerB/DatabaseB", dialog.id, False)]
    assert list(facts.errors.values()) == ([] if ended else [-8408])
    unreported = replace(facts, unaccepted={})
    for found in [facts, replace(facts, errors={})] + [unreported] * (not ended):
        assert found.balance().outcomes == {Fate.ERROR_RECEIVED: 1}
    assert replace(unreported, errors={}).balance().outcomes == {Fate.LOST: 1}


def test_every_partition_has_a_position_of_its_own(kafka: str, unique: str) -> None:
    """What a worker has read is known partition by partition: none of it counts as unread.

    And a command on a partition that is not its key's is none: the worker refuses it (161).
    """
    topology = load(topologies_dir() / "two_brokers", time.time())
    instances = {n: replace(i, partitions=3) for n, i in topology.instances.items()}
    with running(kafka, unique, replace(topology, instances=instances)) as system:
        with system.client() as client:
            for _ in range(12):
                client.send(client.begin(*SENDER, *SERVICES), b"hello")
            system.received(*TARGETS[0], "TargetQueue", 12)

            def acknowledged() -> bool:
                found = read_dialogs(system.cluster, "ServerA")
                return [endpoint.acknowledged[0] for _, endpoint in found] == [1] * 12

            eventually(acknowledged, "all is acknowledged")
        *_, sent = read_all(system.cluster, system.cluster.topics.cmd("ServerA"))
        elsewhere = ((sent.partition() or 0) + 1) % 3
        producer = system.cluster.producer()
        producer.produce(
            sent.topic(), sent.value(), sent.key(), headers=sent.headers(), partition=elsewhere
        )
        producer.flush(30)
        system.events(161)
        facts = read_facts(system.cluster, system.topology)
    assert facts.balance().outcomes == {Fate.DELIVERED: 12}
    nothing = replace(facts, delivered=[]).balance()
    assert nothing.outcomes == {Fate.LOST: 12}


@pytest.mark.long
def test_what_is_committed_behind_an_open_transaction_is_not_lost(kafka: str, unique: str) -> None:
    """The reader waits for the transaction of a worker that writes to the same queue."""
    with running(kafka, unique, "two_brokers") as system, system.client() as client:
        queue = system.cluster.topics.queue(*TARGETS[0], "TargetQueue")
        other = system.cluster.producer(
            transactional_id=f"{unique}other", transaction_timeout_ms=6_000
        )
        other.init_transactions(30)
        other.begin_transaction()
        other.produce(queue, b"this worker dies before it commits")
        other.flush(30)
        client.send(client.begin(*SENDER, *SERVICES), b"hello")

        def acknowledged() -> bool:
            return [e.acknowledged[0] for _, e in read_dialogs(system.cluster, "ServerA")] == [1]

        eventually(acknowledged, "the message is stored behind the open transaction")
        facts = read_facts(system.cluster, system.topology)
    assert facts.balance().outcomes == {Fate.DELIVERED: 1}
