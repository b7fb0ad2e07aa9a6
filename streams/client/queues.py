"""A queue's settings in the catalog, for its receivers."""

from __future__ import annotations

import logging
import time
from dataclasses import replace

from streams.errors import EventKind, Number, SurroundingsError
from streams.kafka import (
    CatalogState,
    CheckedConsumer,
    Cluster,
    ConsumerHealth,
    KafkaException,
    TopicPartition,
    UnusableCatalogError,
    change_for,
    is_forbidden,
    publish,
    read_catalog,
)
from streams.topology import Queue, Topology, hosts_of, queue_named
from streams.wire import encode_event

log = logging.getLogger("hopline.client")

_ATTEMPTS = 5
_HERE_ONLY = (
    "%s/%s: the queue %s has a poison message and is disabled in this process only: %s Disable "
    "it for all (hopline queue off), and enable it when the receiving application is fixed."
)


class QueueSettings:
    """STATUS and POISON_MESSAGE_HANDLING of one queue, kept current while this object is open.

    For an undeclared queue, both settings are ON.
    """

    def __init__(self, cluster: Cluster, instance: str, database: str, queue: str) -> None:
        self.status, self.poison_handling = True, True
        self._cluster, self._where = cluster, (instance, database, queue)
        self._state = self._read()
        self._least = 0
        self._settle()
        self._health = ConsumerHealth(cluster)
        self._consumer = self._follow()

    def _read(self) -> CatalogState:
        """Read the catalog from its start; a change that is still being committed is read later."""
        return read_catalog(self._cluster, to_high=False)

    def _follow(self) -> CheckedConsumer:
        consumer = self._cluster.consumer(
            f"{self._cluster.topics.prefix}reader", stats=self._health.report
        )
        consumer.assign([TopicPartition(self._cluster.topics.catalog, 0, self._state.next)])
        return consumer

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def look(self) -> None:
        """Read the catalog's new records; do not wait while Kafka is available.

        Waits for the whole catalog if removed objects may have been missed.
        """
        batch = self._consumer.consume(1_000, 0)
        for message in batch:
            if message.error() is None and self._state.read(message):
                self._settle()
        if self._state.is_doubtful:
            self._read_again()
        elif self._health.finds(bool(batch), self._consumer):
            self._follow_anew()

    def _read_again(self) -> None:
        if self._state.replace(self._read()):
            self._settle()
        self._follow_anew()

    def _follow_anew(self) -> None:
        self._consumer.close()
        self._consumer = self._follow()

    def _settle(self) -> None:
        if self._state.topology is not None and self._state.version >= self._least:
            found = _queue(self._state.topology, *self._where)
            self.status = found is None or found.status
            self.poison_handling = found is None or found.poison_message_handling

    def disable(self) -> None:
        """Disable a poisoned queue for all readers, and report event 143.

        A process without permission to write to the catalog disables the queue only for itself, and
        logs a warning. Every process does so if the catalog has an invalid object. Raises
        SurroundingsError if other writers keep changing the catalog during the attempts.
        """
        for left in reversed(range(_ATTEMPTS)):
            try:
                if self._disable():
                    self._tell()
                break
            except UnusableCatalogError as error:
                log.warning(_HERE_ONLY, *self._where, error)
                break
            except (SurroundingsError, KafkaException) as error:  # another writer was faster
                if isinstance(error, KafkaException) and is_forbidden(error.args[0]):
                    log.warning(
                        _HERE_ONLY,
                        *self._where,
                        "this user is not allowed to write to the catalog.",
                    )
                    break
                if not left:
                    raise
        self.status = False

    def _disable(self) -> bool:
        """Publish STATUS = OFF; return ``False`` if it is already in the catalog."""
        instance, database, queue = self._where
        state = read_catalog(self._cluster)
        topology = state.topology
        if topology is None:
            raise SurroundingsError("The catalog is empty.", "Run 'hopline apply TOPOLOGY' first.")
        self._least = state.version
        found = _queue(topology, *self._where) or Queue(queue)
        if not found.status:
            return False
        changed = _with_queue(topology, instance, database, replace(found, status=False))
        self._least = publish(self._cluster, changed, change_for(state, changed))
        return True

    def _tell(self) -> None:
        instance, database, queue = self._where
        producer = self._cluster.producer()
        told = {
            "event": int(EventKind.QUEUE_DISABLED),
            "at": time.time_ns() // 1_000_000,
            "instance": instance,
            "database": database,
            "error": int(Number.QUEUE_DISABLED),
            "detail": f"{queue}: five receiving transactions in a row were rolled back",
        }
        producer.produce(self._cluster.topics.event, value=encode_event(told))
        producer.flush(30)


def _queue(topology: Topology, home: str, database: str, queue: str) -> Queue | None:
    hosts = (topology.instances[name] for name in hosts_of(topology, home))
    held = next((here.databases.get(database) for here in hosts), None)
    return None if held is None else queue_named(held, queue)


def _with_queue(topology: Topology, home: str, database: str, queue: Queue) -> Topology:
    """Return the topology with this definition of a queue; for a pair, at both partners."""
    instances = dict(topology.instances)
    for name in hosts_of(topology, home):
        here = instances[name]
        held = here.databases[database]
        changed = replace(held, queues={**held.queues, queue.name: queue})
        instances[name] = replace(here, databases={**here.databases, database: changed})
    return replace(topology, instances=instances)
