"""A queue's settings in the catalog, as its receivers need them."""

from __future__ import annotations

import time
from dataclasses import replace

from streams.errors import EventKind, Number, SurroundingsError
from streams.kafka import Cluster, change_for, publish, read_catalog
from streams.topology import Queue, Topology, queue_named
from streams.wire import encode_event


def queue_settings(cluster: Cluster, instance: str, database: str, queue: str) -> tuple[bool, bool]:
    """Return STATUS and POISON_MESSAGE_HANDLING; a queue that nobody declared has both on."""
    topology = read_catalog(cluster).topology
    found = _queue(topology, instance, database, queue) if topology is not None else None
    return (True, True) if found is None else (found.status, found.poison_message_handling)


def disable_queue(cluster: Cluster, instance: str, database: str, queue: str) -> None:
    """Turn a poisoned queue off for everybody, and tell it (event 143).

    Raises SurroundingsError where the catalog was changed by somebody else at the same moment.
    """
    state = read_catalog(cluster)
    topology = state.topology
    if topology is None:
        raise SurroundingsError("The catalog is empty.", "Run 'hopline apply TOPOLOGY' first.")
    found = _queue(topology, instance, database, queue) or Queue(queue)
    if found.status:
        here = topology.instances[instance]
        held = here.databases[database]
        queues = {**held.queues, found.name: replace(found, status=False)}
        databases = {**here.databases, database: replace(held, queues=queues)}
        instances = {**topology.instances, instance: replace(here, databases=databases)}
        changed = replace(topology, instances=instances)
        publish(cluster, changed, change_for(state, changed))
    producer = cluster.producer()
    told = {
        "event": int(EventKind.QUEUE_DISABLED),
        "at": time.time_ns() // 1_000_000,
        "instance": instance,
        "database": database,
        "error": int(Number.QUEUE_DISABLED),
        "detail": f"{queue}: five transactions in a row that had received were rolled back",
    }
    producer.produce(cluster.topics.event, value=encode_event(told))
    producer.flush(30)


def _queue(topology: Topology, instance: str, database: str, queue: str) -> Queue | None:
    here = topology.instances.get(instance)
    held = here.databases.get(database) if here is not None else None
    return None if held is None else queue_named(held, queue)
