"""Creating topics, and refusing those that would lose something. Only ``apply`` creates any."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicMetadata,
)

from streams.errors import SurroundingsError
from streams.kafka.cluster import Cluster
from streams.kafka.failure import is_forbidden
from streams.settings import Replicas
from streams.wire.specs import TopicSpec

_TIMEOUT = 30.0
_AGAIN = 0.05
"""Seconds until a broker is asked again for a topic that it does not know yet."""
_ANSWERS = 3.0
"""Seconds within which one broker answers."""
_IN_SYNC = "min.insync.replicas"
_SAFE_ELECTION = {"unclean.leader.election.enable": "false"}
"""A leader that lacks acknowledged records is never elected."""
_MORE_REPLICAS = (
    "Add replicas with kafka-reassign-partitions.sh (with Strimzi: spec.replicas of the "
    "KafkaTopic), then run 'hopline apply' again. If this is meant, say so by the setting "
    "replication: {meant}, or as-is."
)
_FIXED_COUNT = (
    "The number of partitions cannot change while dialogs live in it: `hopline repartition` adds "
    "some to an instance that is stopped."
)
_APPLY = "Run 'hopline apply TOPOLOGY', which creates and corrects topics."

Config = Mapping[str, Any]
"""A topic's configuration as Kafka describes it: entries by name."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A topic that is not as it must be; ``missing`` where it does not exist at all.

    ``corrections``: the settings to alter. ``remedy``: what an operator has to do, because
    ``apply`` cannot; ``is_fatal`` where nothing is applied before that.
    """

    topic: str
    what: str
    missing: bool = False
    corrections: Mapping[str, str] = field(default_factory=dict)
    remedy: str = ""
    is_fatal: bool = False


def create(cluster: Cluster, specs: Sequence[TopicSpec]) -> list[str]:
    """Create the topics that do not exist and correct those that do; returns what was done.

    They are compared first, so where all is as it must be no right to create or alter is needed.
    """
    return settle(cluster, specs, compare(cluster, specs))


def settle(
    cluster: Cluster, specs: Iterable[TopicSpec], mismatches: Sequence[Mismatch]
) -> list[str]:
    """Create and correct what :func:`compare` has found; returns what was done.

    Raises SurroundingsError where a topic has another number of partitions (changing that is an
    offline command of its own), or where a right is lacking. Topics with too few replicas stay.
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
    """Create topics; yield the names of those that somebody else has not created meanwhile."""
    admin, replicas = cluster.admin(), cluster.replication.wanted(broker_count(cluster))
    count = -1 if replicas is None else replicas.count
    needs = {s.name: _config_of(s, replicas) for s in specs}
    new = [NewTopic(s.name, s.partitions, count, config=needs[s.name]) for s in specs]
    for name, future in admin.create_topics(new, request_timeout=_TIMEOUT).items():
        try:
            future.result()
            yield name
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                continue
            spec = next(s for s in specs if s.name == name)
            config = ", ".join(f"{key}={value}" for key, value in needs[name].items())
            how_many = "" if replicas is None else f", {replicas.count} replicas"
            lacking = " It needs the right Create." if is_forbidden(error.args[0]) else ""
            raise SurroundingsError(
                f"Topic {name} does not exist and cannot be created: {_said(error)}.{lacking}",
                f"Or let somebody else create it, with {spec.partitions} partitions{how_many}, "
                f"{config}. 'hopline topics TOPOLOGY' lists all topics.",
            ) from error


def grow(cluster: Cluster, topics: Iterable[str], count: int) -> None:
    """Let topics have so many partitions; one that has them is left alone.

    Raises SurroundingsError where Kafka refuses that.
    """
    admin = cluster.admin()  # while it is held, the answers can come
    known = admin.list_topics(timeout=_TIMEOUT).topics
    small = [t for t in topics if t not in known or len(known[t].partitions) < count]
    if not small:
        return
    wanted = [NewPartitions(topic, count) for topic in small]
    for topic, future in admin.create_partitions(wanted, request_timeout=_TIMEOUT).items():
        try:
            future.result()
        except KafkaException as error:
            lacking = " It needs the right Alter." if is_forbidden(error.args[0]) else ""
            raise SurroundingsError(
                f"Topic {topic} cannot have {count} partitions: {_said(error)}.{lacking}",
                "Or let somebody else add them, then run the command again.",
            ) from error
    _await_known(cluster, dict.fromkeys(small, count))


def _await_known(cluster: Cluster, counts: Mapping[str, int]) -> None:
    """Return when every broker that runs knows the topics, with so many partitions at least.

    The next client may ask any of them.
    """
    admin, deadline = cluster.admin(), time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        brokers = admin.list_topics(timeout=_TIMEOUT).brokers.values()
        if all(_knows(cluster, f"{b.host}:{b.port}", counts) for b in brokers):
            return
        time.sleep(_AGAIN)


def _knows(cluster: Cluster, broker: str, counts: Mapping[str, int]) -> bool:
    # A new client asks the broker that it was given; later it knows the others.
    admin = replace(cluster, bootstrap=broker).admin()
    try:
        topics = admin.list_topics(timeout=_ANSWERS).topics
    except KafkaException:  # it has just died, say, and the others do not know that yet
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
            lacking = " It needs the right AlterConfigs." if is_forbidden(error.args[0]) else ""
            config = ", ".join(f"{key}={value}" for key, value in mismatch.corrections.items())
            raise SurroundingsError(
                f"Topic {mismatch.topic}: {mismatch.what}, and cannot be altered: "
                f"{_said(error)}.{lacking}",
                f"Or let somebody else set {config}.",
            ) from error


def _said(error: KafkaException) -> str:
    return str(error.args[0].str()).rstrip(".")


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


def broker_count(cluster: Cluster) -> int:
    """Return how many brokers a cluster has, those included that are down and have replicas."""
    return _brokers(cluster.admin().list_topics(timeout=_TIMEOUT))


def _brokers(metadata: Any) -> int:
    known = set(metadata.brokers)
    for topic in metadata.topics.values():
        for partition in topic.partitions.values():
            known.update(partition.replicas)
    return len(known)


def compare(cluster: Cluster, specs: Iterable[TopicSpec]) -> list[Mismatch]:
    """Hold topics against what they must be.

    That is existence, partitions, replicas, clean-up, time, retention. A topic may have more
    replicas than the setting ``replication`` says, and more of them in sync.
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
    """Return the configuration of each topic that exists."""
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
                    f"Topic {resource.name} exists, and its configuration cannot be read: "
                    f"{_said(error)}. It needs the right DescribeConfigs.",
                    "`hopline acl TOPOLOGY` says what each role may do.",
                ) from error
            # Else the broker that was asked does not know the topic yet.
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
        replicas = None  # with more in sync than there are replicas nothing could be written
    needed = _config_of(spec, replicas)
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


def _config_of(spec: TopicSpec, replicas: Replicas | None) -> dict[str, str]:
    return {**spec.config, **durable_config(replicas)}


def durable_config(replicas: Replicas | None) -> dict[str, str]:
    """Return the settings of a topic that loses nothing acknowledged; nothing for ``None``."""
    if replicas is None:
        return {}
    return {_IN_SYNC: str(replicas.in_sync), **_SAFE_ELECTION}


def _fits(config: Config, name: str, value: str) -> bool:
    entry = config.get(name)
    if entry is None:  # not every service that speaks Kafka's protocol has every setting
        return True
    return int(entry.value) >= int(value) if name == _IN_SYNC else bool(entry.value == value)


def demand(cluster: Cluster, specs: Iterable[TopicSpec]) -> None:
    """Raise SurroundingsError unless every topic is as it must be: workers call it first."""
    mismatches = compare(cluster, (spec.safe for spec in specs))
    if not mismatches:
        return
    first, more = mismatches[0], len(mismatches) - 1
    others = f" ({more} more like it)" if more else ""
    remedy = first.remedy or cluster.remedy(_APPLY)
    raise SurroundingsError(f"Topic {first.topic} {first.what}{others}.", remedy)


def demand_replicas(cluster: Cluster, topic: str, *, timeout: float = _TIMEOUT) -> None:
    """Raise SurroundingsError where a topic has too few replicas: clients call it first.

    They may not read a topic's configuration; workers have compared that.
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
        raise SurroundingsError(f"Topic {topic} {too_few.what}.", too_few.remedy)
