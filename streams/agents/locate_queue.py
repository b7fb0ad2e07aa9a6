"""Validate an agent's services and their queue against the catalog."""

from __future__ import annotations

from dataclasses import dataclass

from streams.client.queues import QueueSettings
from streams.errors import UsageError
from streams.kafka import Cluster, partitions_of, read_catalog
from streams.topology import Database, accepted_contracts, hosts_of, queue_of


@dataclass(frozen=True, slots=True)
class Served:
    """The queue of an agent's services; ``places`` is the number of partitions of ``cmd``."""

    queue: str
    topic: str
    partitions: int
    places: int
    settings: QueueSettings


def locate(
    cluster: Cluster, instance: str, database: str, services: tuple[str, ...], contract: str | None
) -> Served:
    """Return the queue of services, from the catalog.

    Raises UsageError if they do not exist, have several queues or do not accept the contract, and
    SurroundingsError if there is no catalog.
    """
    held = _database(cluster, instance, database)
    queues = {name: queue_of(held, name) for name in services}
    missing = [name for name, queue in queues.items() if queue is None]
    if missing:
        known = ", ".join(sorted(held.services)) or "none"
        raise UsageError(f"{instance}/{database} has no service {missing[0]}.", f"It has: {known}.")
    names = sorted({queue.name for queue in queues.values() if queue is not None})
    if len(names) > 1:
        raise UsageError(
            f"The services {', '.join(services)} have several queues: {', '.join(names)}.",
            "Give each queue its own agent.",
        )
    if contract is not None:
        _demand(held, services, contract)
    topic = cluster.topics.queue(instance, database, names[0])
    partitions = len(partitions_of(cluster, topic))
    places = len(partitions_of(cluster, cluster.topics.cmd(instance)))
    settings = QueueSettings(cluster, instance, database, names[0])
    return Served(names[0], topic, partitions, places, settings)


def _database(cluster: Cluster, instance: str, database: str) -> Database:
    topology = read_catalog(cluster).topology
    hosts = hosts_of(topology, instance) if topology is not None else ()
    held = topology.instances[hosts[0]].databases.get(database) if topology and hosts else None
    if held is not None and held.mirror is not None and held.mirror.pair != instance:
        raise UsageError(
            f"{database} at {instance} is mirrored, so its services belong to the pair.",
            f'Write instance="{held.mirror.pair}".',
        )
    if held is None:
        raise UsageError(
            f"The catalog at {cluster.bootstrap} has no {instance}/{database}.",
            "Run 'hopline apply TOPOLOGY' first, or give another database.",
        )
    return held


def _demand(database: Database, services: tuple[str, ...], contract: str) -> None:
    for name in services:
        accepted = accepted_contracts(database, name)
        if contract not in accepted:
            said = ", ".join(accepted) or "none, because it only begins dialogs"
            raise UsageError(
                f"{name} does not accept the contract {contract}.", f"It accepts: {said}."
            )
