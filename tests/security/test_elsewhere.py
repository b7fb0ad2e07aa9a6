"""A role is refused wherever `hopline acl` grants it nothing: every role tries every topic."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from streams.client import Receiver
from streams.errors import SurroundingsError
from streams.kafka import Cluster, KafkaError, KafkaException, TopicPartition, create, specs_of
from streams.live.parts import parts_of
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.acl import Operation, Resource, Role, roles_of
from tests.running import eventually
from tests.security.secured import Secured

_REFUSED = KafkaError.TOPIC_AUTHORIZATION_FAILED
_END = KafkaError._PARTITION_EOF
_LOOKS = (Operation.DESCRIBE, Operation.READ)


@dataclass(frozen=True)
class Bare:
    """The topics of one cluster of two, in which nothing is written that anybody understands."""

    secured: Secured
    topics: Topics
    names: tuple[str, ...]
    roles: dict[str, Role]

    def may(self, role: Role, operation: Operation) -> set[str]:
        """Return the topics on which a role may do something."""
        grants = [g for g in role.grants if g.resource is Resource.TOPIC]
        return {
            name
            for name in self.names
            for g in grants
            if operation in g.operations
            and (name.startswith(g.name) if g.prefixed else name == g.name)
        }

    def as_application(self) -> Cluster:
        """Return the cluster as an application sees it."""
        return self.secured.as_user(APPLICATION, self.topics.prefix)

    def read_by(self, cluster: Cluster, user: str) -> set[str]:
        """Return the topics that a user reads to their ends; the broker's log tells of the others.

        The client says nothing, or that of the group, where there is a topic that it may not see.
        """
        consumer = cluster.consumer(f"{cluster.topics.prefix}reader", enable_partition_eof=True)
        consumer.assign([TopicPartition(name, 0, 0) for name in self.names])
        read: set[str] = set()

        def all_answered() -> bool:
            while message := consumer.poll(0.1):
                error = message.error()
                if error is None or error.code() == _END:
                    read.add(message.topic() or "")
            asked = self.secured.asked(user)
            refused = {name for ok, _, name, op in asked if not ok and op in _LOOKS}
            return read | refused >= {*self.names}

        try:
            eventually(all_answered, "all topics answer")
        finally:
            consumer.close()
        return read


@pytest.fixture(scope="module")
def bare(secured: Secured) -> Iterator[Bare]:
    """Make the topics of the seller's cluster, and users for its roles."""
    whole = load(topologies_dir() / "two_clusters", time.time())
    [part] = parts_of(whole, "seller")
    topics = Topics(f"t{uuid.uuid4().hex[:12]}.")
    roles = {r.name: r for r in roles_of(part.topology, topics)}
    secured.add_users(roles)
    secured.grant(roles.values())
    specs = specs_of(part.topology, topics)
    create(secured.admin(topics.prefix), specs)
    yield Bare(secured, topics, tuple(spec.name for spec in specs), roles)


APPLICATION = "application.ServerB.DatabaseB.SupplierService"
KINDS = ["forwarder.GatewayB", "endpoint.ServerB", APPLICATION,
         "foreign.buyer", "monitor", "verify", "observer", "apply", "publish", "outbox", "trace",
         "replay", "trace.ServerB", "outbox.ServerB"]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", KINDS)
def test_a_role_writes_and_reads_what_it_may_and_is_refused_elsewhere(
    bare: Bare, name: str
) -> None:
    role, cluster = bare.roles[name], bare.secured.as_user(name, bare.topics.prefix)
    assert written(cluster, bare.names) == bare.may(role, Operation.WRITE)
    assert bare.read_by(cluster, name) == bare.may(role, Operation.READ)


def written(cluster: Cluster, topics: tuple[str, ...]) -> set[str]:
    """Return the topics that take a record."""
    answers: dict[str, KafkaError | None] = {}
    # Not idempotent: who may write nothing is then refused topic by topic.
    producer = cluster.producer(enable_idempotence=False, delivery_report_only_error=False)
    for topic in topics:
        producer.produce(
            topic, b"x", b"x", on_delivery=lambda e, m: answers.setdefault(m.topic() or "", e)
        )
    assert producer.flush(60) == 0
    refused = {topic for topic, error in answers.items() if error is not None}
    codes = {error.code() for error in answers.values() if error is not None}
    assert codes <= {_REFUSED}, answers
    return set(topics) - refused


def test_who_is_nobody_learns_nothing(bare: Bare) -> None:
    """Somebody whom nothing was granted sees no topic at all."""
    bare.secured.add_users(["nobody"])
    cluster = bare.secured.as_user("nobody", bare.topics.prefix)
    assert not cluster.admin().list_topics(timeout=60).topics


@pytest.mark.long
def test_a_wrong_password_is_told_without_it(bare: Bare) -> None:
    properties = {**bare.secured.properties("verify"), "sasl.password": "verkehrt"}
    cluster = Cluster(bare.secured.sasl, bare.topics, properties)
    with pytest.raises(Exception, match="Authentication failed") as refused:
        cluster.wait(10.0, lambda _: None)
    assert "verkehrt" not in str(refused.value)


def test_a_group_that_is_not_ones_own_cannot_be_joined(bare: Bare) -> None:
    """Who reads with another's group would take its messages away."""
    consumer = bare.as_application().consumer("somebody-elses", auto_offset_reset="earliest")
    consumer.subscribe(
        [name for name in bare.names if bare.topics.name("queue", "ServerB") in name]
    )

    def refused() -> bool:
        message = consumer.poll(0.5)
        error = None if message is None else message.error()
        return error is not None and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED

    try:
        eventually(refused, "the group is refused")
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("queue", "group", "reported"),
    [
        ("SomebodyElses", APPLICATION, "Topic"),
        ("SupplierQueue", "somebody-elses", "Group"),
    ],
)
def test_who_may_not_receive_is_told_and_finds_no_empty_queue(
    bare: Bare, queue: str, group: str, reported: str
) -> None:
    where = (bare.as_application(), "ServerB", "DatabaseB", queue, group)
    with Receiver(*where) as receiver:
        with pytest.raises(SurroundingsError, match=f"{reported} authorization failed") as refused:
            eventually(lambda: receiver.receive(1), "it is told")
        assert refused.value.remedy.startswith("`hopline acl TOPOLOGY` lists")
        with pytest.raises(SurroundingsError, match=f"{reported} authorization failed"):
            receiver.receive(0)


def test_a_transaction_that_is_not_ones_own_cannot_be_begun(bare: Bare) -> None:
    """Who begins one under a worker's id would fence the worker."""
    name = f"{bare.topics.prefix}endpoint.ServerB.0"
    producer = bare.as_application().producer(transactional_id=name)
    with pytest.raises(KafkaException) as refused:
        producer.init_transactions(60)
    code = refused.value.args[0].code()
    assert code == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
