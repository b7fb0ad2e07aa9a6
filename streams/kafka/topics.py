"""Creating topics, and refusing those that would lose something. Only ``apply`` creates any."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    ResourceType,
)

from streams.errors import SurroundingsError
from streams.kafka.cluster import Cluster
from streams.wire.specs import TopicSpec

_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A topic that is not as it must be; ``missing`` where it does not exist at all."""

    topic: str
    what: str
    missing: bool = False


def create(cluster: Cluster, specs: Iterable[TopicSpec], replication: int = -1) -> list[str]:
    """Create the topics that do not exist and correct those that do; returns what was done.

    ``replication`` -1 takes the broker's default. Raises SurroundingsError where a topic has
    another number of partitions: changing that is an offline command of its own.
    """
    wanted = {s.name: s for s in specs}
    admin = cluster.admin()
    done: list[str] = []
    new = [
        NewTopic(s.name, s.partitions, replication, config=dict(s.config)) for s in wanted.values()
    ]
    for name, future in admin.create_topics(new, request_timeout=_TIMEOUT).items():
        try:
            future.result()
            done.append(f"created {name}")
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
    for mismatch in compare(cluster, wanted.values()):
        if mismatch.missing:  # made just now, and not every broker has heard of it
            continue
        spec = wanted[mismatch.topic]
        if mismatch.what.startswith("partitions"):
            raise SurroundingsError(
                f"Topic {mismatch.topic}: {mismatch.what}.",
                "The number of partitions cannot change while dialogs live in it.",
            )
        resource = ConfigResource(
            ResourceType.TOPIC,
            spec.name,
            incremental_configs=[
                ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                for name, value in spec.config.items()
            ],
        )
        for future in admin.incremental_alter_configs([resource]).values():
            future.result()
        done.append(f"corrected {mismatch.topic} ({mismatch.what})")
    return done


def topic_id(cluster: Cluster, topic: str) -> uuid.UUID:
    """Return Kafka's id of a topic: one that is made anew under the same name has another."""
    return topic_ids(cluster, [topic])[topic]


def topic_ids(cluster: Cluster, topics: Sequence[str]) -> dict[str, uuid.UUID]:
    """Return Kafka's ids of topics, as :func:`topic_id`."""
    admin = cluster.admin()
    found = admin.describe_topics(TopicCollection(list(topics)), request_timeout=_TIMEOUT)
    return {topic: _guid(future.result().topic_id) for topic, future in found.items()}


def _guid(known: Any) -> uuid.UUID:
    high, low = known.get_most_significant_bits(), known.get_least_significant_bits()
    return uuid.UUID(int=(high % 2**64 << 64) + low % 2**64)


def compare(cluster: Cluster, specs: Iterable[TopicSpec]) -> list[Mismatch]:
    """Hold topics against what they must be: existence, partitions, clean-up, time, retention."""
    wanted = {s.name: s for s in specs}
    admin = cluster.admin()
    metadata = admin.list_topics(timeout=_TIMEOUT).topics
    found = [s for s in wanted.values() if s.name in metadata]
    mismatches = [
        Mismatch(s.name, "does not exist", missing=True)
        for s in wanted.values()
        if s.name not in metadata
    ]
    for spec in found:
        count = len(metadata[spec.name].partitions)
        if count != spec.partitions:
            mismatches.append(
                Mismatch(spec.name, f"partitions are {count} and must be {spec.partitions}")
            )
    if not found:
        return mismatches
    resources = [ConfigResource(ResourceType.TOPIC, s.name) for s in found]
    for resource, future in admin.describe_configs(resources).items():
        try:
            config = future.result()
        except KafkaException as error:  # the broker that was asked has not heard of it
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            mismatches.append(Mismatch(resource.name, "does not exist", missing=True))
            continue
        for name, value in wanted[resource.name].config.items():
            entry = config[name]
            if entry.value != value:
                default = " by default" if entry.source == ConfigSource.DEFAULT_CONFIG.value else ""
                what = f"{name} is {entry.value}{default} and must be {value}"
                mismatches.append(Mismatch(resource.name, what))
                break
    return mismatches


def demand(cluster: Cluster, specs: Iterable[TopicSpec]) -> None:
    """Raise SurroundingsError unless every topic is as it must be: workers call it first."""
    mismatches = compare(cluster, (spec.safe for spec in specs))
    if not mismatches:
        return
    first, more = mismatches[0], len(mismatches) - 1
    others = f" ({more} more like it)" if more else ""
    raise SurroundingsError(
        f"Topic {first.topic} {first.what}{others}.",
        cluster.remedy("Run 'hopline apply TOPOLOGY', which creates and corrects topics."),
    )
