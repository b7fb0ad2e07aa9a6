"""Dynamic routing on Kafka: a database asks for a route, and the waiting dialogs are delivered."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams.client import Client, Conversation
from streams.kafka import Message, deploy, headers_of, partitions_of, read_live
from streams.node.endpoint.route_requests import MISSING_ROUTE, MissingRoute, parse_missing_route
from streams.protocol import Limits, Request, request_owner
from streams.protocol import Message as Frame
from streams.report import read_facts
from streams.topology import Topology, apply_sql, load
from streams.wire.partition import partition_of
from streams.wire.records import read_queued
from streams.wire.state import decode_request
from streams.wire.state_keys import POSITIONS_KEY, RequestKey, decode_key
from tests.node.evidence import shows
from tests.running import running
from tests.workers.rig import Rig, eventually, pause, rig

COUNT = 3
TOPOLOGY = f"""
instances:
  A:
    address: tcp://A:1
    partitions: {COUNT}
    databases:
      DatabaseA:
        broker_id: DatabaseA
        services:
          InitiatorService: {{queue: InitiatorQueue}}
          SQL/ServiceBroker/BrokerConfiguration:
            queue: ConfigurationQueue
            contracts: ['http://schemas.microsoft.com/SQL/ServiceBroker/BrokerConfigurationNotice']
        routes:
          - {{name: Asked, service_name: SQL/ServiceBroker/BrokerConfiguration, address: LOCAL}}
  B:
    address: tcp://B:1
    databases:
      DatabaseB:
        broker_id: DatabaseB
        services: {{TargetService: {{queue: TargetQueue}}}}
        routes:
          - {{name: ToA, service_name: InitiatorService, address: 'tcp://A:1'}}
"""


@pytest.fixture
def asking(kafka: str, unique: str, tmp_path: Path) -> Iterator[Rig]:
    """Return an instance of three partitions with a configuration service, and a target."""
    (tmp_path / "topology.yaml").write_text(TOPOLOGY)
    with rig(kafka, unique, load(tmp_path, time.time())) as made:
        yield made


def requests(of: Rig) -> dict[int, Request]:
    """Return the state records of requests, by the partition in which they are."""
    topic = of.topics.dialog("A")
    return {
        partition: decode_request(value, about.service)
        for partition in partitions_of(of.cluster, topic)
        for key, value in read_live(of.cluster, topic, partition).items()
        if key != POSITIONS_KEY and isinstance(about := decode_key(key), RequestKey)
    }


def read(message: Message) -> Frame:
    return read_queued(message.value(), headers_of(message))


@shows("EX-56", "R11")
def test_ex_56_one_request_for_the_dialogs_of_all_partitions(asking: Rig) -> None:
    """MissingRoute arrives once; after the route and END every dialog is delivered."""
    control = asking.control("A", "B")
    for name in "AB":
        asking.forwarder(name, control=control)
    first = asking.endpoint("A", control=control)
    asking.endpoint("B", control=control)
    with asking.client() as client:
        dialogs = [
            client.begin(
                *("A", "DatabaseA", "InitiatorService", "TargetService"),
                conversation=one_of(number % COUNT),
            )
            for number in range(2 * COUNT)
        ]
        for dialog in dialogs:
            client.send(dialog, dialog.id.bytes)
        queue = asking.topics.queue("A", "DatabaseA", "ConfigurationQueue")
        (question,) = map(read, asking.until(queue, 1))
        assert question.header.type == MISSING_ROUTE
        assert parse_missing_route(question.body) == MissingRoute("TargetService")
        eventually(lambda: requests(asking) or pause(), "the request is stored")
        ((home, open_),) = requests(asking).items()
        assert home == partition_of(request_owner("DatabaseA", "TargetService"), COUNT)
        assert home == partition_of(question.conversation, COUNT)
        assert question.conversation.version == 4, "the id is random"
        assert (open_.conversation, open_.total) == (question.conversation, 1)

        first.stop()  # whoever takes over knows that it has asked
        asking.endpoint("A", control=control)
        asking.events(3 * len(dialogs), error=9770)
        deploy(asking.cluster, with_route(asking))
        request = Conversation("A", "DatabaseA", question.conversation, is_initiator=False)
        client.end(request, wait=True)
    target = asking.topics.queue("B", "DatabaseB", "TargetQueue")
    arrived = {message.value() for message in asking.until(target, len(dialogs))}
    assert arrived == {dialog.id.bytes for dialog in dialogs}
    eventually(lambda: requests(asking)[home].conversation is None or pause(), "it has ended")
    assert [read(m).header.type for m in asking.records(queue)] == [MISSING_ROUTE]
    ledger = read_facts(asking.cluster, asking.topology).balance()
    assert ledger.balanced, ledger


@pytest.mark.long
@shows("EX-58")
def test_ex_58_who_never_answers_is_never_asked_again(kafka: str, unique: str) -> None:
    """The dialogs look again and again, and wait for the end of their lifetime; so does a new one.

    Its request is the one that is open, however long nobody reads it.
    """
    at = ("ServerA", "DatabaseA")
    with (
        running(kafka, unique, "dynamic_routing", limits=Limits(retries=(300,))) as system,
        system.client() as client,
    ):
        queue = system.cluster.topics.queue(*at, "ConfigurationQueue")
        dialogs = [begin(client, at, lifetime=10), begin(client, at, lifetime=10)]
        errors = system.records(system.cluster.topics.queue(*at, "InitiatorQueue"), count=2)
        assert {one["conversation"] for one in errors} == {str(dialog.id) for dialog in dialogs}
        assert all("<Code>-8489</Code>" in one["body"]["text"] for one in errors)
        for dialog in (*dialogs, begin(client, at)):
            wanted = {"conversation": str(dialog.id), "error": 9770}
            system.events(141, lambda event, of=wanted: of.items() <= event.items(), count=3)
        system.records(queue)
        assert [one["message"]["type"] for one in system.snapshot(queue)] == [MISSING_ROUTE]


def begin(client: Client, at: tuple[str, str], lifetime: int | None = None) -> Conversation:
    dialog = client.begin(*at, "InitiatorService", "TargetService", lifetime=lifetime)
    client.send(dialog, b"hello")
    client.flush()
    return dialog


def one_of(partition: int) -> uuid.UUID:
    """Return a new conversation id that belongs on a partition."""
    return next(k for k in iter(uuid.uuid4, None) if partition_of(k, COUNT) == partition)


def with_route(of: Rig) -> Topology:
    """Return the topology as the application's CREATE ROUTE makes it."""
    text = "CREATE ROUTE ToB WITH SERVICE_NAME = 'TargetService', ADDRESS = 'tcp://B:1'"
    return apply_sql(of.topology, "A", "DatabaseA", text, time.time())
