"""Create topics, correct them, and add partitions. Only ``apply`` creates topics."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from streams.errors import SurroundingsError
from streams.kafka.batches import batches
from streams.kafka.cluster import Cluster
from streams.kafka.compare_topics import Mismatch, broker_count, compare, config_of
from streams.kafka.failure import refusal
from streams.prose import counted
from streams.settings import Replicas
from streams.wire.specs import TopicSpec

_TIMEOUT = 30.0
_AGAIN = 0.05
"""Seconds before another request to a broker that does not know a topic yet."""
_ANSWERS = 3.0
"""Timeout in seconds for the response of one broker."""


def create(cluster: Cluster, specs: Sequence[TopicSpec]) -> list[str]:
    """Create missing topics and correct existing ones; return the changes made.

    The topics are compared first, so the rights to create and alter topics are not needed if all
    topics match.
    """
    return settle(cluster, specs, compare(cluster, specs))


def settle(
    cluster: Cluster, specs: Iterable[TopicSpec], mismatches: Sequence[Mismatch]
) -> list[str]:
    """Create and correct the topics that :func:`compare` has found; return the changes made.

    Raises SurroundingsError if a topic has a different number of partitions (changing it is a
    separate offline command), or if a right is missing. Topics with too few replicas remain
    unchanged.
    """
    wanted = {s.name: s for s in specs}
    for mismatch in mismatches:
        if mismatch.is_fatal:
            raise SurroundingsError(f"Topic {mismatch.topic}: {mismatch.what}.", mismatch.remedy)
    done, new = [], [wanted[m.topic] for m in mismatches if m.missing]
    if new:
        done = [f"created {name}" for name in _create_missing(cluster, new)]
        _await_known(cluster, {spec.name: spec.partitions for spec in new})
    admin = cluster.admin()
    for mismatch in mismatches:
        if mismatch.corrections:
            _correct(admin, mismatch)
            done.append(f"corrected {mismatch.topic} ({mismatch.what})")
    return done


def _create_missing(cluster: Cluster, specs: Sequence[TopicSpec]) -> Iterator[str]:
    """Create missing topics; yield the names of the topics that this process has created.

    If a broker does not know all settings, the topics are created without the settings of newer
    versions.
    """
    admin, replicas = cluster.admin(), cluster.replication.wanted(broker_count(cluster))
    count = -1 if replicas is None else replicas.count
    needs = {s.name: config_of(s, replicas) for s in specs}
    new = [NewTopic(s.name, s.partitions, count, config=needs[s.name]) for s in specs]
    old: list[TopicSpec] = []
    for batch in batches(new, _records):
        for name, future in admin.create_topics(batch, request_timeout=_TIMEOUT).items():
            try:
                future.result()
                yield name
            except KafkaException as error:
                if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    continue
                spec = next(s for s in specs if s.name == name)
                if error.args[0].code() == KafkaError.INVALID_CONFIG and spec != spec.old:
                    old.append(spec.old)
                    continue
                raise _not_created(spec, replicas, needs[name], error) from error
    if old:
        yield from _create_missing(cluster, old)


def _records(topic: NewTopic) -> int:
    """Return the number of controller records of a new topic, its partitions and settings."""
    return 1 + topic.num_partitions + len(topic.config or ())


def _not_created(
    spec: TopicSpec, replicas: Replicas | None, needs: Mapping[str, str], error: KafkaException
) -> SurroundingsError:
    config = ", ".join(f"{key}={value}" for key, value in needs.items())
    how_many = "" if replicas is None else f", {counted(replicas.count, 'replica')}"
    return SurroundingsError(
        f"Topic {spec.name} does not exist and cannot be created: {refusal(error, 'Create')}",
        f"Otherwise, an administrator can create it with {counted(spec.partitions, 'partition')}"
        f"{how_many}, "
        f"{config}. 'hopline topics TOPOLOGY' lists all topics.",
    )


def grow(cluster: Cluster, topics: Iterable[str], count: int) -> None:
    """Increase topics to a number of partitions; skip topics that have at least this number.

    Raises SurroundingsError if Kafka refuses.
    """
    admin = cluster.admin()  # keep a reference: responses arrive only while the client exists
    known = admin.list_topics(timeout=_TIMEOUT).topics
    small = [t for t in topics if t not in known or len(known[t].partitions) < count]
    if not small:
        return
    wanted = [NewPartitions(topic, count) for topic in small]
    for batch in batches(wanted, lambda _: count):
        for topic, future in admin.create_partitions(batch, request_timeout=_TIMEOUT).items():
            try:
                future.result()
            except KafkaException as error:
                partitions = counted(count, "partition")
                raise SurroundingsError(
                    f"Topic {topic} cannot have {partitions}: {refusal(error, 'Alter')}",
                    "Otherwise, ask an administrator to add them, then run the command again.",
                ) from error
    _await_known(cluster, dict.fromkeys(small, count))


def _await_known(cluster: Cluster, counts: Mapping[str, int]) -> None:
    """Wait until every running broker knows the topics with at least these partition counts.

    This is necessary because the next client may send its requests to any running broker.
    """
    admin, deadline = cluster.admin(), time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        brokers = admin.list_topics(timeout=_TIMEOUT).brokers.values()
        if all(_knows(cluster, f"{b.host}:{b.port}", counts) for b in brokers):
            return
        time.sleep(_AGAIN)


def _knows(cluster: Cluster, broker: str, counts: Mapping[str, int]) -> bool:
    # A new client sends its first request to the bootstrap broker, and learns of others only later.
    admin = replace(cluster, bootstrap=broker).admin()
    try:
        topics = admin.list_topics(timeout=_ANSWERS).topics
    except KafkaException:
        # for example, the broker has just failed, and the other brokers have not noticed yet
        return False
    return all(t in topics and len(topics[t].partitions) >= n for t, n in counts.items())


def _correct(admin: AdminClient, mismatch: Mismatch) -> None:
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in mismatch.corrections.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, mismatch.topic, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        try:
            future.result()
        except KafkaException as error:
            config = ", ".join(f"{key}={value}" for key, value in mismatch.corrections.items())
            raise SurroundingsError(
                f"Topic {mismatch.topic}: {mismatch.what}, and cannot be altered: "
                f"{refusal(error, 'AlterConfigs')}",
                f"Or have {config} set.",
            ) from error
