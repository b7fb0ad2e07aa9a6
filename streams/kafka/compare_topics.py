"""Compare topics with their required settings; reject topics that could lose records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ConfigSource,
    ResourceType,
    TopicMetadata,
)

from streams.errors import SurroundingsError
from streams.kafka.cluster import Cluster
from streams.kafka.failure import is_forbidden, refusal
from streams.settings import Replicas
from streams.wire.specs import TopicSpec

_TIMEOUT = 30.0
_IN_SYNC = "min.insync.replicas"
_AT_LEAST = (_IN_SYNC, "delete.retention.ms")
"""Settings for which a larger value than required is also safe."""
_SAFE_ELECTION = {"unclean.leader.election.enable": "false"}
"""The setting that prevents Kafka from electing a leader that lacks acknowledged records."""
_MORE_REPLICAS = (
    "Add replicas with kafka-reassign-partitions.sh (with Strimzi: spec.replicas of the "
    "KafkaTopic), then run 'hopline apply' again. If this is intended, set replication to "
    "{meant}, or to as-is."
)
_FIXED_COUNT = (
    "The number of partitions cannot change while the topic has dialogs: stop the instance and "
    "add partitions with `hopline repartition`."
)
_APPLY = "Run 'hopline apply TOPOLOGY', which creates and corrects topics."

Config = Mapping[str, Any]
"""A topic's configuration as Kafka describes it: entries by name."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A topic that differs from its specification; ``missing`` if it does not exist.

    ``corrections``: the settings to alter. ``remedy``: the step that only an operator can take;
    ``is_fatal``: ``apply`` changes nothing before this step.
    """

    topic: str
    what: str
    missing: bool = False
    corrections: Mapping[str, str] = field(default_factory=dict)
    remedy: str = ""
    is_fatal: bool = False


def compare(cluster: Cluster, specs: Iterable[TopicSpec]) -> list[Mismatch]:
    """Compare topics with their specifications.

    Compares existence, partitions, replicas, cleanup policy, timestamp type and retention. A topic
    may have more replicas and a larger minimum of in-sync replicas than the setting ``replication``
    requires, and may keep tombstones longer.
    """
    wanted = {s.name: s for s in specs}
    admin = cluster.admin()
    metadata = admin.list_topics(timeout=_TIMEOUT)
    replicas = cluster.replication.wanted(_brokers(metadata))
    configs = _describe(admin, [name for name in wanted if name in metadata.topics])
    missing = [
        Mismatch(name, "does not exist", missing=True) for name in wanted if name not in configs
    ]
    return missing + [
        mismatch
        for name, config in configs.items()
        for mismatch in _differences(wanted[name], metadata.topics[name], config, replicas)
    ]


def _describe(admin: AdminClient, topics: Sequence[str]) -> dict[str, Config]:
    """Return the configuration of each existing topic."""
    if not topics:
        return {}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in topics]
    found: dict[str, Config] = {}
    for resource, future in admin.describe_configs(resources).items():
        try:
            found[resource.name] = future.result()
        except KafkaException as error:
            if is_forbidden(error.args[0]):
                raise SurroundingsError(
                    f"Topic {resource.name} exists, but its configuration cannot be read: "
                    f"{refusal(error, 'DescribeConfigs')}",
                    "`hopline acl TOPOLOGY` lists the rights of each role.",
                ) from error
            # This code means that the broker that responded does not know the topic yet.
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
    return found


def _differences(
    spec: TopicSpec, found: TopicMetadata, config: Config, replicas: Replicas | None
) -> Iterator[Mismatch]:
    count = len(found.partitions)
    if count != spec.partitions:
        what = f"partitions are {count} and must be {spec.partitions}"
        yield Mismatch(spec.name, what, remedy=_FIXED_COUNT, is_fatal=True)
    too_few = _too_few(spec.name, found, replicas)
    if too_few is not None:
        yield too_few
        # every write fails if min.insync.replicas exceeds the number of replicas
        replicas = None
    needed = config_of(spec, replicas)
    wrong = {name: value for name, value in needed.items() if not _fits(config, name, value)}
    for name, value in wrong.items():
        entry = config[name]
        default = " by default" if entry.source == ConfigSource.DEFAULT_CONFIG.value else ""
        what = f"{name} is {entry.value}{default} and must be {value}"
        yield Mismatch(spec.name, what, corrections=wrong)
        return


def _too_few(topic: str, found: TopicMetadata, replicas: Replicas | None) -> Mismatch | None:
    fewest = min((len(p.replicas) for p in found.partitions.values()), default=0)
    if replicas is None or fewest >= replicas.count:
        return None
    what = f"replicas are {fewest} and must be {replicas.count}"
    meant = Replicas(max(1, fewest), max(1, fewest - 1))
    return Mismatch(topic, what, remedy=_MORE_REPLICAS.format(meant=meant))


def config_of(spec: TopicSpec, replicas: Replicas | None) -> dict[str, str]:
    """Return the settings that a topic must have."""
    return {**spec.config, **durable_config(replicas)}


def durable_config(replicas: Replicas | None) -> dict[str, str]:
    """Return the settings of a topic that must not lose acknowledged records; {} for ``None``."""
    if replicas is None:
        return {}
    return {_IN_SYNC: str(replicas.in_sync), **_SAFE_ELECTION}


def _fits(config: Config, name: str, value: str) -> bool:
    entry = config.get(name)
    if entry is None:  # some services with Kafka's protocol lack some settings
        return True
    return int(entry.value) >= int(value) if name in _AT_LEAST else bool(entry.value == value)


def demand(cluster: Cluster, specs: Iterable[TopicSpec]) -> None:
    """Raise SurroundingsError if a topic differs; workers call this before they start."""
    mismatches = compare(cluster, (spec.safe for spec in specs))
    if not mismatches:
        return
    first, more = mismatches[0], len(mismatches) - 1
    others = f" ({more} more like this)" if more else ""
    remedy = first.remedy or cluster.remedy(_APPLY)
    colon = "" if first.missing else ":"
    raise SurroundingsError(f"Topic {first.topic}{colon} {first.what}{others}.", remedy)


def demand_replicas(cluster: Cluster, topic: str, *, timeout: float = _TIMEOUT) -> None:
    """Raise SurroundingsError if a topic has too few replicas; clients call this when they start.

    Clients may lack the right to read topic configurations, so only workers compare them.
    """
    try:
        metadata = cluster.admin().list_topics(timeout=timeout)
    except KafkaException as error:
        raise cluster.unreachable(error, timeout) from error
    found = metadata.topics.get(topic)
    if found is None:
        return
    too_few = _too_few(topic, found, cluster.replication.wanted(_brokers(metadata)))
    if too_few is not None:
        raise SurroundingsError(f"Topic {topic}: {too_few.what}.", too_few.remedy)


def broker_count(cluster: Cluster) -> int:
    """Return the number of brokers, including those that are down and have replicas."""
    return _brokers(cluster.admin().list_topics(timeout=_TIMEOUT))


def _brokers(metadata: Any) -> int:
    known = set(metadata.brokers)
    for topic in metadata.topics.values():
        for partition in topic.partitions.values():
            known.update(partition.replicas)
    return len(known)
