"""Change the number of partitions of an instance, while its workers are stopped.

A dialog belongs to the partition of its conversation id, and most ids belong to another partition
after partitions are added. So topics are extended first; workers refuse to start until the catalog
contains the same number of partitions. Then every misplaced dialog is moved; finally, the new
number is written to the catalog. After an interruption, a second run continues
(docs/decisions/0029).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from streams.analysis.places import unknown
from streams.errors import SurroundingsError, UsageError
from streams.kafka import (
    Cluster,
    Consumer,
    Message,
    TopicPartition,
    change_for,
    grow,
    headers_of,
    partitions_of,
    publish,
    read_catalog,
    read_ends,
    read_from,
    read_live,
    read_positions,
    specs_of,
    topic_ids,
)
from streams.live.admin.rekey import Rekey, State, next_offsets
from streams.live.admin.statements import live_topology
from streams.prose import clipped, counted
from streams.topology import Topology, hosts_of, pairs_of
from streams.topology.objects import is_group
from streams.wire import MalformedError
from streams.wire.records import is_moved
from streams.wire.state import decode_positions
from streams.wire.state_keys import POSITIONS_KEY
from streams.workers.endpoint.inputs import Inputs

MOST = 1_000
_JOINED = 30.0
"""Seconds to wait for the partitions of a dead worker."""
Reporter = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Repartitioned:
    """The result: the homes (instances, mirrored pairs), and the number of moved dialogs.

    ``version`` is the catalog's new version, in which all homes have ``partitions`` partitions.
    """

    homes: tuple[str, ...]
    before: int
    partitions: int
    moved: int
    version: int


def repartition(
    cluster: Cluster,
    name: str,
    count: int,
    report: Reporter,
    ignored: Collection[str] = (),
    approve: Callable[[Repartitioned], None] = lambda _: None,
) -> Repartitioned:
    """Set the number of partitions of an instance, or of a mirrored pair with its partners.

    ``approve`` receives the plan, with the catalog's current version, and may raise an exception.
    Agents of ``ignored`` applications need not have committed; if such an agent is still running,
    its last statements are applied a second time. Raises UsageError for an unknown name and for
    fewer partitions, which Kafka does not support; raises SurroundingsError if a worker runs, if
    records are not applied yet, or if Kafka fails.
    """
    state = read_catalog(cluster)
    live = live_topology(state)
    hosts, homes = together(live, name)
    before = live.instances[hosts[0]].partitions
    if not before <= count <= MOST:
        raise UsageError(
            f"{name} has {counted(before, 'partition')} and cannot be changed to {count}.",
            f"Kafka can only add partitions: choose {before} to {MOST}.",
        )
    grown = [name for host in hosts for name in _topics(cluster, host, live)]
    grown += [name for home in homes if home not in hosts for name in _topics(cluster, home, live)]
    for home in homes:
        with _owning(cluster, home):
            _demand_applied(cluster, home)
    plan = Repartitioned(homes, before, count, 0, state.version)
    approve(plan)
    grow(cluster, grown, count)
    moved = sum(_move(cluster, live, home, count, report, ignored) for home in homes)
    changed = {host: replace(live.instances[host], partitions=count) for host in hosts}
    wanted = replace(live, instances={**live.instances, **changed})
    change = change_for(state, wanted)
    version = publish(cluster, wanted, change) if change else change.base
    return replace(plan, moved=moved, version=version)


def together(live: Topology, name: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the instances that must have the same number of partitions, with their homes."""
    hosts = set(hosts_of(live, name))
    pairs = pairs_of(live)
    if not hosts:
        raise unknown("instance", name, [*live.instances, *pairs], "The catalog")
    met: set[str] = set()
    while True:
        more = {p.name for p in pairs.values() if hosts & {i.name for i in p.partners}} - met
        if not more:
            return sorted(hosts), (*sorted(hosts), *sorted(met))
        met |= more
        hosts |= {i.name for pair in more for i in pairs[pair].partners}


def _topics(cluster: Cluster, home: str, live: Topology) -> list[str]:
    """Return the topics of a home that are partitioned by conversation."""
    topics = cluster.topics
    own = [topics.out(home), *Inputs.of(topics, home), topics.dialog(home)]
    entrances = [topics.ingress(home, i.cluster) for i in live.ingress if i.gateway == home]
    return [topics.txq(home), *entrances, *own] if home in live.instances else own


def _group(cluster: Cluster, home: str) -> str:
    return f"{cluster.topics.prefix}endpoint.{home}"


@contextmanager
def _owning(cluster: Cluster, home: str) -> Iterator[Consumer]:
    """Become the only endpoint worker of a home: the only group member, with all partitions."""
    inputs = Inputs.of(cluster.topics, home)
    wanted = {(topic, p) for topic in inputs for p in partitions_of(cluster, topic)}
    consumer = cluster.consumer(
        _group(cluster, home),
        partition_assignment_strategy="range",
        topic_metadata_refresh_interval_ms=500,  # until the consumer knows about the new partitions
        # Workers apply the records; this member only owns the partitions.
        auto_offset_reset="latest",
    )
    with closing(consumer):
        consumer.subscribe(list(inputs))
        deadline = time.monotonic() + _JOINED
        while {(p.topic, p.partition) for p in consumer.assignment()} != wanted:
            consumer.poll(0.1)
            if time.monotonic() > deadline:
                raise SurroundingsError(
                    f"Endpoint workers of {home} are running and own the partitions.",
                    "Stop the workers of the instance and of its partners, including standbys.",
                )
        consumer.pause(consumer.assignment())
        yield consumer


def _demand_applied(cluster: Cluster, home: str) -> None:
    """Raise SurroundingsError unless all committed input of an endpoint worker is applied.

    A record whose dialog does not exist yet would stay in the wrong partition.
    """
    passed = _passed(cluster, home)
    for topic in Inputs.of(cluster.topics, home):
        left = sum(1 for _ in _unapplied(cluster, topic, passed))
        if left:
            unapplied = counted(left, f"record of {topic} is", f"records of {topic} are")
            raise SurroundingsError(
                f"{unapplied} not applied yet.",
                "Stop the senders, let the workers run until their lag is 0, then stop them too.",
            )


def _passed(cluster: Cluster, home: str) -> dict[tuple[str, int], int]:
    """Return the next offsets to read, even if Kafka has deleted the group's committed offsets.

    Kafka deletes them when the group has been stopped for a week. The missing offsets are then read
    from the state, as when a worker restores its state.
    """
    inputs, dialog = Inputs.of(cluster.topics, home), cluster.topics.dialog(home)
    passed = dict(read_positions(cluster, _group(cluster, home), list(inputs)))
    for number in partitions_of(cluster, dialog):
        places = [(topic, number) for topic in inputs]
        if passed.keys() >= set(places):
            continue
        raw = read_live(cluster, dialog, number, to_high=True).get(POSITIONS_KEY)
        known = None if raw is None else decode_positions(raw)
        for place, at in zip(places, next_offsets(known), strict=True):
            passed.setdefault(place, at)
    return passed


def _unapplied(
    cluster: Cluster, topic: str, passed: Mapping[tuple[str, int], int]
) -> Iterator[Message]:
    """Yield a topic's committed records from these offsets on, except the copies of moved bodies.

    Waits for open transactions: a sender's commit returns before its records can be read.
    """
    places = [
        TopicPartition(topic, p, max(passed.get((topic, p), 0), 0))
        for p in partitions_of(cluster, topic)
    ]
    for message in read_from(cluster, places, to_high=True):
        if _is_command(message):
            yield message


def _is_command(message: Message) -> bool:
    try:
        return not is_moved(headers_of(message))
    except MalformedError:  # an event that the worker has not reported yet
        return True


def _move(
    cluster: Cluster,
    live: Topology,
    home: str,
    count: int,
    report: Reporter,
    ignored: Collection[str],
) -> int:
    """Move a home's dialogs to their partitions; return the number of moved dialogs."""
    with _owning(cluster, home) as consumer:
        _demand_applied(cluster, home)
        state = State.read(cluster, cluster.topics.dialog(home), count)
        _demand_committed(cluster, live, home, state, ignored)

        def member() -> Any:
            consumer.poll(0)
            return who

        who = consumer.consumer_group_metadata()
        producer = cluster.producer(
            transactional_id=f"{_group(cluster, home)}.repartition",
            delivery_report_only_error=False,
        )
        producer.init_transactions(30)
        moved = Rekey(cluster, home, state, producer, member, report).run()
        wrong = sum(1 for _ in State.read(cluster, cluster.topics.dialog(home), count).misplaced())
    if wrong:
        misplaced = counted(wrong, f"dialog of {home} is", f"dialogs of {home} are")
        raise SurroundingsError(
            f"{misplaced} still in a wrong partition.",
            "Run the command again to continue.",
        )
    return moved


def _demand_committed(
    cluster: Cluster, live: Topology, home: str, state: State, ignored: Collection[str]
) -> None:
    """Raise SurroundingsError if an agent may repeat statements that were applied.

    Each partition detects only its own repeated statements, so another partition would apply them
    again. Any writer may claim a cause, so a cause whose offset is beyond the end of the queue is
    ignored.
    """
    names = [s.name for s in specs_of(live, cluster.topics) if s.kind == "queue"]
    known = cluster.admin().list_topics(timeout=30).topics
    there = [name for name in names if name in known]
    ids = {made: name for name, made in topic_ids(cluster, there).items()}
    ends = read_ends(cluster, there)
    for source, marks in state.seen.items():
        topic, application = ids.get(source.topic), source.application
        if topic is None:  # the topic was deleted, so its statements cannot be repeated
            continue
        last_offset = max(mark.said[-1].offset for mark in marks)
        if last_offset >= ends.get((topic, source.partition), 0):
            continue
        if not is_group(application) or application in ignored:
            continue  # an agent's application is a consumer group
        read = read_positions(cluster, application, [topic])
        passed = read.get((topic, source.partition), 0)
        if passed <= last_offset:
            raise SurroundingsError(
                f"The agents of {clipped(application)} have not committed record {last_offset} of "
                f"{topic}/{source.partition}, whose statements {home} has applied.",
                "Run them and the workers until they have committed it, then stop both. If the "
                "application no longer exists, use --ignore-application.",
            )
