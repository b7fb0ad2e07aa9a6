"""Who may do what on Kafka: the table of roles, and nothing else decides a grant.

A row is what one role needs of one resource, and why. Each operation was found by taking it away:
``tests/security/test_least.py`` says what fails then. Workers check the topics of their rows before
the first use, so what they look at and what they may look at are the same.

Read, Write, Delete and Alter imply Describe; AlterConfigs implies DescribeConfigs. An idempotent
producer needs no IdempotentWrite of the cluster: since Kafka 2.8 Write on any topic is enough.
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
    _topic("catalog", On.CLUSTER, "Read DescribeConfigs", "what it lives by"),
    _topic("presence", On.CLUSTER, "Read Write DescribeConfigs", "heartbeats: others', its own"),
    _topic("event", On.CLUSTER, "Write DescribeConfigs", "what was delayed, dropped, refused"),
    _group("control", On.CLUSTER, "Describe", "the name under which catalog and presence are read"),
    _group("reader", On.CLUSTER, "Describe", "the name under which the catalog is read at start"),
)
_NAMED = _group("reader", On.CLUSTER, "Describe", "the name under which topics are read")
_BROKERS = RoleGrant(
    Resource.CLUSTER,
    "kafka-cluster",  # as Kafka calls it
    On.CLUSTER,
    (Operation.DESCRIBE_CONFIGS,),
    "for how long brokers leave a transaction open",
)
_PUBLISHES = (
    _topic("catalog", On.CLUSTER, "Write", "what it publishes"),
    _transactions("catalog", On.CLUSTER, "in one transaction, one writer at a time"),
)
_PLANS = (
    _topic("catalog", On.CLUSTER, "Read", "what the plan is drawn against"),
    _topic("dialog", On.EVERY, "Read", "open dialogs that a plan would break"),
    _topic("presence", On.CLUSTER, "Read", "failover: whether the partner has heard of it"),
    *_PUBLISHES,
    _NAMED,
)

ROLES: Mapping[str, RoleKind] = {
    "forwarder": RoleKind(
        "routes what is in the transmission queues",
        (
            *_WORKS,
            _topic("out", On.HOME, "Read Delete DescribeConfigs", "what begins here; trimmed"),
            _topic("txq", On.HOME, "Read Delete DescribeConfigs", "what comes here; trimmed"),
            _topic("ingress", On.HOME, "Read Delete DescribeConfigs",
                   "what other clusters write here; trimmed"),
            _topic("in", On.HOME, "Write DescribeConfigs", "messages for a service here"),
            _topic("ack", On.HOME, "Write DescribeConfigs", "acknowledgements; what is delayed"),
            _topic("txq", On.NEXT, "Write", "the next hops, by the routes"),
            _group("forwarder", On.HOME, "Read", "how far it has come"),
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
            _topic("out", On.HOME, "Write DescribeConfigs", "messages on their way"),
            _topic("dialog", On.HOME, "Read Write DescribeConfigs", "the state of the dialogs"),
            _topic("result", On.HOME, "Write DescribeConfigs", "answers to statements"),
            _topic("queue", On.HOME, "Write Delete DescribeConfigs",
                   "messages for applications; trimmed behind the reading group"),
            _group("endpoint", On.HOME, "Read", "how far it has come; fences a predecessor"),
            _group("forwarder", On.HOME, "Describe", "whether a copy is still under way"),
            _group("", On.PLACE, "Describe", "how far queues may be trimmed"),
            _transactions("endpoint", On.HOME, "everything is a transaction; one for each slot"),
        ),
    ),
    "application": RoleKind(
        "says statements and receives",
        (
            _CATALOG,
            _topic("cmd", On.HOME, "Write", "BEGIN, SEND, END"),
            _topic("result", On.HOME, "Read", "the answer to a statement"),
            _topic("queue", On.PLACE, "Read", "RECEIVE"),
            _topic("reading", On.HOME, "Read Write", "that it has received; outlives offsets"),
            _group("", On.PLACE, "Read", "what it has received"),
            _NAMED,
            _transactions("client.", On.OWN, "receive and answer as one (Exchange)"),
        ),
    ),
    "agent": RoleKind(
        "answers a service",
        (
            _CATALOG,
            _topic("cmd", On.HOME, "Write", "what it says"),
            _topic("queue", On.PLACE, "Read", "the queue of its service"),
            _topic("reading", On.HOME, "Read Write", "that it has received; outlives offsets"),
            _topic("event", On.CLUSTER, "Write", "that it has started, and ended (163)"),
            _group("", On.OWN, "Read", "what it has received"),
            _NAMED,
        ),
    ),
    "own-agent": RoleKind(
        "an agent of one's own, beside the applications of its services",
        (_topic("event", On.CLUSTER, "Write", "that it has started, and ended (163)"),),
    ),
    "outbox": RoleKind(
        "hands over what applications' databases have committed",
        (
            _topic("cmd", On.EVERY, "Write", "the statements"),
            _topic("catalog", On.CLUSTER, "Read", "beside it stands which batch is written"),
            _group("outbox.", On.EVERY, "Read", "which batch is written"),
            _transactions("outbox.", On.EVERY, "a batch is one transaction"),
        ),
    ),
    "apply": RoleKind(
        "creates topics and writes the catalog: apply, sql, queue, failover",
        (
            _topic("", On.EVERY, "Create AlterConfigs Describe", "topics, made and corrected"),
            _BROKERS,
            *_PLANS,
        ),
    ),
    "publish": RoleKind(
        "writes the catalog, where something else creates the topics: apply, sql, queue, failover",
        (
            _topic("", On.EVERY, "Describe DescribeConfigs", "topics, compared"),
            _BROKERS,
            *_PLANS,
        ),
    ),
    "monitor": RoleKind(
        "watches, and writes figures",
        (
            _CATALOG,
            *(_topic(kind, On.EVERY, "Read", why) for kind, why in (
                ("queue", "deliveries"), ("out", "messages on their way"),
                ("txq", "what forwarders hold in memory"), ("ingress", "the same"),
                ("dialog", "dialogs"),
            )),
            *(_topic(kind, On.EVERY, "Describe", "how far the endpoint worker is behind")
              for kind in ("cmd", "in", "ack")),
            _topic("event", On.CLUSTER, "Read", "what happened"),
            _topic("presence", On.CLUSTER, "Read", "heartbeats"),
            _topic("metric", On.CLUSTER, "Write", "its figures"),
            _group("endpoint.", On.EVERY, "Describe", "how far the endpoint worker has come"),
            _group("forwarder.", On.EVERY, "Describe", "how far the forwarder has come"),
            _group("monitor", On.CLUSTER, "Describe", "the name under which it reads"),
            _NAMED,
        ),
    ),
    "verify": RoleKind(
        "accounts for every message; reads only",
        (
            _CATALOG,
            *(_topic(kind, On.EVERY, "Read", why) for kind, why in (
                ("cmd", "what was said"), ("queue", "what was delivered"),
                ("dialog", "what dialogs have settled"),
            )),
            _topic("event", On.CLUSTER, "Read", "what was told"),
            _NAMED,
        ),
    ),
    "observer": RoleKind(
        "tail, query, trace's way, capture and the dashboard's dialogs; reads only",
        (
            _topic("", On.EVERY, "Read", "every topic"),
            _group("", On.EVERY, "Describe", "how far workers have come; the names it reads under"),
            _group("", On.PLACE, "Describe", "what reading groups have received"),
        ),
    ),
    "trace": RoleKind(
        "sends probes",
        (
            _CATALOG,
            _topic("out", On.EVERY, "Write", "probes begin there"),
            _topic("ack", On.EVERY, "Read", "probes end there"),
            _topic("event", On.CLUSTER, "Read", "or are dropped, and that is told"),
            _group("trace", On.CLUSTER, "Describe", "the name under which it reads"),
            _NAMED,
        ),
    ),
    "replay": RoleKind(
        "says again what a capture says was said, and sees what comes of it",
        (
            _CATALOG,
            _topic("cmd", On.EVERY, "Read Write", "statements, again; how far a job is"),
            _topic("reading", On.EVERY, "Read Write", "that a job has begun; outlives offsets"),
            _topic("queue", On.EVERY, "Read", "what is delivered"),
            _topic("event", On.CLUSTER, "Read", "what happens"),
            _group("replay", On.CLUSTER, "Describe", "the name under which it reads"),
            _group("replay.", On.EVERY, "Read", "how far a job is"),
            _NAMED,
            _transactions("replay.", On.EVERY, "statements and how far it is, as one"),
        ),
    ),
    "foreign": RoleKind(
        "a forwarder of another cluster: writes to its gateway here, and reads no message",
        (
            _topic("ingress", On.NEXT, "Write", "what crosses over, into topics of its own"),
            _topic("presence", On.CLUSTER, "Read", "whether the gateway lives, by which clock"),
            _group("control", On.CLUSTER, "Describe", "the name under which presence is read"),
        ),
    ),
}  # fmt: skip
"""The kinds of roles, by name."""


def _for_one(kind: str, says: str) -> RoleKind:
    """Return a kind of role that writes the topics of its home, where the kind writes of every."""
    rows = (
        replace(row, on=On.HOME)
        if row.resource is Resource.TOPIC and Operation.WRITE in row.operations
        else row
        for row in ROLES[kind].rows
    )
    return RoleKind(says, tuple(rows))


FOR_ONE: Mapping[str, RoleKind] = {
    "outbox": _for_one("outbox", "hands over what is said to the services of one instance"),
    "trace": _for_one("trace", "sends probes from one instance, and back to others"),
}
"""The same kinds where they are to write for one instance only: ``outbox.ServerA``."""

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
"""What agents that come with Hopline need beside what every agent does."""


def checked_kinds(roles: tuple[str, ...]) -> frozenset[str]:
    """Return which kinds of topics workers of these roles check before the first use."""
    rows = (row for role in roles for row in ROLES[role].rows)
    return frozenset(row.name for row in rows if Operation.DESCRIBE_CONFIGS in row.operations)
