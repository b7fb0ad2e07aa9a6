"""The clients for another Kafka cluster, whose brokers are not trusted.

The control thread checks a cluster's properties with the settings that the watch and the forwarders
later use to create their clients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from streams.kafka import GATHERED, RECEIVED, Cluster, Consumer, KafkaError, Producer

PATIENCE = 2.0
"""Seconds after which a record that is not confirmed counts as not delivered."""


def check(cluster: Cluster) -> None:
    """Raise an exception if librdkafka refuses a cluster's properties for one of the clients."""
    nowhere = replace(cluster, bootstrap="")  # no name is resolved, and no connection is opened
    remote_producer(nowhere)
    remote_consumer(nowhere)


def remote_producer(cluster: Cluster) -> Producer:
    """Create a producer that reports each record within :data:`PATIENCE`."""
    return cluster.producer(
        linger_ms=1,
        message_timeout_ms=int(PATIENCE * 1000),
        delivery_report_only_error=False,
    )


def remote_consumer(
    cluster: Cluster,
    errors: Callable[[KafkaError], None] | None = None,
) -> Consumer:
    """Create a consumer for heartbeats; it joins no group, but needs a group id."""
    return cluster.consumer(
        f"{cluster.topics.prefix}control",
        auto_offset_reset="latest",
        enable_partition_eof=True,
        within=RECEIVED,
        errors=errors,
        fetch_wait_max_ms=500,  # an idle cluster is polled less often; a record ends the wait
        **GATHERED,
    )
