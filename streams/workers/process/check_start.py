"""Checks before the start: unknown instances, wrong topics, unannounced schemas."""

from __future__ import annotations

from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, demand
from streams.node import CatalogView, home_of
from streams.system_names import SYSTEM_SERVICES
from streams.wire.acl import checked_kinds
from streams.wire.evolution import written_schemas
from streams.wire.specs import QueueSpec, TopicSpec, cluster_specs, home_specs, instance_specs
from streams.workers.control import Control
from streams.workers.process.plan import Plan


def check_start(cluster: Cluster, plan: Plan, control: Control) -> None:
    """Raise UsageError or SurroundingsError if the workers of a plan must not start."""
    catalog = control.catalog
    unknown = [name for name in plan.instances if name not in catalog.instances]
    if unknown:
        raise UsageError(
            f"The catalog has no instance {unknown[0]}.",
            f"Its instances are: {', '.join(sorted(catalog.instances))}.",
        )
    used = checked_kinds(plan.roles)
    demand(cluster, (spec for spec in _specs(cluster, plan, catalog) if spec.kind in used))
    if not all(map(control.has, written_schemas())):
        raise SurroundingsError(
            "The catalog does not have the schemas that this version writes.",
            "Run 'hopline apply TOPOLOGY' first, which announces them to all readers.",
        )


def _specs(cluster: Cluster, plan: Plan, catalog: CatalogView) -> list[TopicSpec]:
    """Return the topics of a plan's instances, and of their mirrored pairs."""
    topics = cluster.topics
    specs = list(cluster_specs(topics))
    for name in plan.instances:
        queues, partitions = _queues(catalog, name), catalog.partitions[name]
        writers = catalog.ingress.get(name, ())
        specs += instance_specs(topics, name, queues.pop(name), partitions, writers)
        for pair, of_pair in queues.items():
            specs += home_specs(topics, pair, of_pair, partitions)
    return specs


def _queues(catalog: CatalogView, instance: str) -> dict[str, set[QueueSpec]]:
    """Return the queues of an instance, by the names in their topics."""
    found: dict[str, set[QueueSpec]] = {instance: set()}
    for (at, database, named), service in catalog.services.items():
        if at == instance and named not in SYSTEM_SERVICES:  # system services have no queue topic
            home = home_of(catalog, instance, database)
            found.setdefault(home, set()).add((database, service.queue, service.partitions))
    return found
