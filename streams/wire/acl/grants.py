"""The table of roles and their rights in Kafka; no other code decides on grants.

A row lists the operations that a role needs on one resource, with the reason. The need for each
operation was verified by removing it; ``tests/security/test_least.py`` contains the resulting
failures. Workers check the topics of their rows before the first use, so they check exactly the
topics that they may describe.

Read, Write, Delete and Alter imply Describe; AlterConfigs implies DescribeConfigs. An idempotent
producer does not need IdempotentWrite on the cluster: since Kafka 2.8, Write on any topic is
enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streams.wire.acl.grant import On, Operation, Resource, RoleGrant, RoleKind


def _topic(name: str, on: On, may: str, why: str) -> RoleGrant:
    return RoleGrant(Resource.TOPIC, name, on, tuple(map(Operation, may.split())), why)


def _group(name: str, on: On, may: str, why: str) -> RoleGrant:
    return RoleGrant(Resource.GROUP, name, on, tuple(map(Operation, may.split())), why)


def _transactions(name: str, on: On, why: str) -> RoleGrant:
    return RoleGrant(Resource.TRANSACTIONAL_ID, name, on, (Operation.WRITE,), why)


_CATALOG = _topic("catalog", On.CLUSTER, "Read", "routes, services and queues, as they are now")
_WORKS = (
    _topic("catalog", On.CLUSTER, "Read DescribeConfigs", "the catalog"),
    _topic("presence", On.CLUSTER, "Read Write DescribeConfigs", "heartbeats: its own and others'"),
    _topic(
        "event",
        On.CLUSTER,
        "Write DescribeConfigs",
        "messages that were delayed, dropped or rejected",
    ),
    _group("control", On.CLUSTER, "Describe", "consumer group for the catalog and presence"),
    _group("reader", On.CLUSTER, "Describe", "consumer group for the catalog, at the start"),
)
_NAMED = _group("reader", On.CLUSTER, "Describe", "consumer group for other topics")
_BROKERS = RoleGrant(
    Resource.CLUSTER,
    "kafka-cluster",  # Kafka's name for the cluster resource
    On.CLUSTER,
    (Operation.DESCRIBE_CONFIGS,),
    "the brokers' longest transaction timeout",
)
_PUBLISHES = (
    _topic("catalog", On.CLUSTER, "Write", "the catalog"),
    _transactions("catalog", On.CLUSTER, "in one transaction, one writer at a time"),
)
_PLANS = (
    _topic("catalog", On.CLUSTER, "Read", "state to plan against"),
    _topic("dialog", On.EVERY, "Read", "open dialogs that a plan would break"),
    _topic("presence", On.CLUSTER, "Read", "failover: whether the partner has taken over"),
    *_PUBLISHES,
    _NAMED,
)

ROLES: Mapping[str, RoleKind] = {
    "forwarder": RoleKind(
        "routes messages from the transmission queues",
        (
            *_WORKS,
            _topic("out", On.HOME, "Read Delete DescribeConfigs", "outgoing messages; trimmed"),
            _topic("txq", On.HOME, "Read Delete DescribeConfigs", "incoming messages; trimmed"),
            _topic("ingress", On.HOME, "Read Delete DescribeConfigs",
                   "messages from other clusters; trimmed"),
            _topic("in", On.HOME, "Write DescribeConfigs", "messages for a service here"),
            _topic("ack", On.HOME, "Write DescribeConfigs", "acknowledgements; delayed messages"),
            _topic("txq", On.NEXT, "Write", "the next hops, by the routes"),
            _group("forwarder", On.HOME, "Read", "committed offsets"),
        ),
    ),
    "endpoint": RoleKind(
        "runs the dialogs",
        (
            *_WORKS,
            _topic("cmd", On.HOME, "Read Write Delete DescribeConfigs",
                   "statements; bodies that are moved to its end; trimmed"),
            _topic("in", On.HOME, "Read Write Delete DescribeConfigs",
                   "arriving messages; bodies that are moved to its end; trimmed"),
            _topic("ack", On.HOME, "Read Delete DescribeConfigs", "acknowledgements; trimmed"),
            _topic("out", On.HOME, "Write DescribeConfigs", "messages in transit"),
            _topic("dialog", On.HOME, "Read Write DescribeConfigs", "the state of the dialogs"),
            _topic("result", On.HOME, "Write DescribeConfigs", "answers to statements"),
            _topic("queue", On.HOME, "Write Delete DescribeConfigs",
                   "messages for applications; trimmed below the group's offsets"),
            _group("endpoint", On.HOME, "Read", "committed offsets; fences a predecessor"),
            _group("forwarder", On.HOME, "Describe", "whether a copy is still in flight"),
            _group("", On.PLACE, "Describe", "how far queues may be trimmed"),
            _transactions("endpoint", On.HOME, "all writes are transactions; one id per slot"),
        ),
    ),
    "application": RoleKind(
        "sends statements and receives messages",
        (
            _CATALOG,
            _topic("cmd", On.HOME, "Write", "BEGIN, SEND, END"),
            _topic("result", On.HOME, "Read", "answers to statements"),
            _topic("queue", On.PLACE, "Read", "RECEIVE"),
            _topic("reading", On.HOME, "Read Write", "positions received; outlive offsets"),
            _group("", On.PLACE, "Read", "committed offsets"),
            _NAMED,
            _transactions("client.", On.OWN, "receive and answer in one transaction (Exchange)"),
        ),
    ),
    "agent": RoleKind(
        "answers the messages of a service",
        (
            _CATALOG,
            _topic("cmd", On.HOME, "Write", "statements"),
            _topic("queue", On.PLACE, "Read", "the queue of its service"),
            _topic("reading", On.HOME, "Read Write", "positions received; outlive offsets"),
            _topic("event", On.CLUSTER, "Write", "its start and end (163)"),
            _group("", On.OWN, "Read", "committed offsets"),
            _NAMED,
        ),
    ),
    "own-agent": RoleKind(
        "a custom agent, in addition to the applications of its services",
        (_topic("event", On.CLUSTER, "Write", "its start and end (163)"),),
    ),
    "outbox": RoleKind(
        "relays statements that application databases committed",
        (
            _topic("cmd", On.EVERY, "Write", "the statements"),
            _topic("catalog", On.CLUSTER, "Read", "the batch in flight, in the offset's metadata"),
            _group("outbox.", On.EVERY, "Read", "the batch in flight"),
            _transactions("outbox.", On.EVERY, "a batch is one transaction"),
        ),
    ),
    "apply": RoleKind(
        "creates topics and writes the catalog: apply, sql, queue, failover",
        (
            _topic("", On.EVERY, "Create AlterConfigs Describe", "topics, created and altered"),
            _BROKERS,
            *_PLANS,
        ),
    ),
    "publish": RoleKind(
        "writes the catalog, if something else creates the topics: apply, sql, queue, failover",
        (
            _topic("", On.EVERY, "Describe DescribeConfigs", "topics, compared"),
            _BROKERS,
            *_PLANS,
        ),
    ),
    "monitor": RoleKind(
        "monitors, and writes metrics",
        (
            _CATALOG,
            *(_topic(kind, On.EVERY, "Read", why) for kind, why in (
                ("queue", "deliveries"), ("out", "messages in transit"),
                ("txq", "messages buffered by forwarders"), ("ingress", "the same"),
                ("dialog", "dialogs"),
            )),
            *(_topic(kind, On.EVERY, "Describe", "lag of the endpoint worker")
              for kind in ("cmd", "in", "ack")),
            _topic("event", On.CLUSTER, "Read", "events"),
            _topic("presence", On.CLUSTER, "Read", "heartbeats"),
            _topic("metric", On.CLUSTER, "Write", "its figures"),
            _group("endpoint.", On.EVERY, "Describe", "committed offsets of the endpoint worker"),
            _group("forwarder.", On.EVERY, "Describe", "committed offsets of the forwarder"),
            _group("monitor", On.CLUSTER, "Describe", "its consumer group"),
            _NAMED,
        ),
    ),
    "verify": RoleKind(
        "accounts for every message; has read access only",
        (
            _CATALOG,
            *(_topic(kind, On.EVERY, "Read", why) for kind, why in (
                ("cmd", "statements"), ("queue", "delivered messages"),
                ("dialog", "state of the dialogs"),
            )),
            _topic("event", On.CLUSTER, "Read", "events"),
            _NAMED,
        ),
    ),
    "observer": RoleKind(
        "tail, query, trace's path, capture and the dashboard's dialogs; has read access only",
        (
            _topic("", On.EVERY, "Read", "every topic"),
            _group("", On.EVERY, "Describe", "committed offsets of workers; its own groups"),
            _group("", On.PLACE, "Describe", "positions of consumer groups"),
        ),
    ),
    "trace": RoleKind(
        "sends probes",
        (
            _CATALOG,
            _topic("out", On.EVERY, "Write", "probes start there"),
            _topic("ack", On.EVERY, "Read", "probes end there"),
            _topic("event", On.CLUSTER, "Read", "reports of dropped probes"),
            _group("trace", On.CLUSTER, "Describe", "its consumer group"),
            _NAMED,
        ),
    ),
    "replay": RoleKind(
        "replays a capture and compares the result",
        (
            _CATALOG,
            _topic("cmd", On.EVERY, "Read Write", "replayed statements; progress of a job"),
            _topic("reading", On.EVERY, "Read Write", "start of a job; outlives offsets"),
            _topic("queue", On.EVERY, "Read", "delivered messages"),
            _topic("event", On.CLUSTER, "Read", "events"),
            _group("replay", On.CLUSTER, "Describe", "its consumer group"),
            _group("replay.", On.EVERY, "Read", "progress of a job"),
            _NAMED,
            _transactions("replay.", On.EVERY, "statements and progress in one transaction"),
        ),
    ),
    "foreign": RoleKind(
        "a forwarder of another cluster: writes to its gateway here, and reads no message",
        (
            _topic("ingress", On.NEXT, "Write", "messages that cross clusters, into separate "
                                                "topics"),
            _topic("presence", On.CLUSTER, "Read", "heartbeats and clock of the gateway"),
            _group("control", On.CLUSTER, "Describe", "consumer group for presence"),
        ),
    ),
}  # fmt: skip
"""The kinds of roles, by name."""


def _for_one(kind: str, says: str) -> RoleKind:
    """Return a role kind restricted to the topics of its home."""
    rows = (
        replace(row, on=On.HOME)
        if row.resource is Resource.TOPIC and Operation.WRITE in row.operations
        else row
        for row in ROLES[kind].rows
    )
    return RoleKind(says, tuple(rows))


FOR_ONE: Mapping[str, RoleKind] = {
    "outbox": _for_one("outbox", "sends messages to the services of one instance"),
    "trace": _for_one("trace", "sends probes from one instance, and back to others"),
}
"""Kinds of roles that are restricted to writing for one instance, such as ``outbox.ServerA``."""

EXTRA: Mapping[str, tuple[RoleGrant, ...]] = {
    "data-dependent-routing": (
        _topic(
            "-resolved_conversations-changelog",
            On.OWN,
            "Create Read Write Describe",
            "its table of resolved conversations",
        ),
    ),
    "configuration-notice": _PUBLISHES,
}
"""The additional grants of agents that are included in Hopline."""


def checked_kinds(roles: tuple[str, ...]) -> frozenset[str]:
    """Return the kinds of topics that workers of these roles check before the first use."""
    rows = (row for role in roles for row in ROLES[role].rows)
    return frozenset(row.name for row in rows if Operation.DESCRIBE_CONFIGS in row.operations)
