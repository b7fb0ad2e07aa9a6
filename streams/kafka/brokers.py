"""Check the broker setting that limits how long a transaction may stay open."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType

from streams.kafka.cluster import TRANSACTION_TIMEOUT_MS, Cluster
from streams.kafka.failure import is_forbidden, refusal

_TIMEOUT = 30.0
_SETTING = "transaction.max.timeout.ms"


def find_long_transactions(cluster: Cluster) -> tuple[str, ...]:
    """Return a warning if brokers allow transactions to stay open longer than Hopline needs.

    An open transaction blocks read_committed consumers of its partition, and any producer with
    write access can open one. Also returns a warning if the brokers' settings cannot be read.
    Returns no warning if the broker does not respond, if the service has no such setting, or if
    Kafka reports an empty list of brokers, as a single broker does after a pause.
    """
    admin = cluster.admin()
    brokers = admin.list_topics(timeout=_TIMEOUT).brokers
    if not brokers:
        return ()
    asked = admin.describe_configs(
        [ConfigResource(ResourceType.BROKER, str(number)) for number in brokers],
        request_timeout=_TIMEOUT,
    )
    longest = 0
    for answer in asked.values():
        try:
            longest = max(longest, _milliseconds(answer))
        except KafkaException as error:
            if is_forbidden(error.args[0]):
                why = refusal(error, "DescribeConfigs on the cluster")
                return (f"{_SETTING} of the brokers cannot be read: {why}",)
    if longest <= TRANSACTION_TIMEOUT_MS:
        return ()
    return (
        f"Brokers leave a transaction open for up to {longest / 1000:g} s ({_SETTING}={longest}), "
        "which blocks read_committed consumers for that long. Set "
        f"{_SETTING}={TRANSACTION_TIMEOUT_MS} on the brokers.",
    )


def _milliseconds(answer: Future[dict[str, Any]]) -> int:
    entry = answer.result().get(_SETTING)
    return 0 if entry is None else int(entry.value)
