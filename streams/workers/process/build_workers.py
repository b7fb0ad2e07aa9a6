"""Create the workers of a plan, for each instance and its mirrored pairs."""

from __future__ import annotations

from streams.kafka import Cluster
from streams.node import pairs_at
from streams.protocol import Limits
from streams.workers.control import Control
from streams.workers.endpoint import EndpointWorker, Tuning
from streams.workers.forwarder import ForwarderWorker
from streams.workers.process.plan import Plan
from streams.workers.process.trimming import every
from streams.workers.process.worker import Worker


def build_workers(
    cluster: Cluster, plan: Plan, control: Control, limits: Limits | None
) -> list[Worker]:
    """Return the workers of a plan, without starting them."""
    workers: list[Worker] = []
    for name in plan.instances:
        for pair in (None, *pairs_at(control.catalog, name)):
            if plan.forwards:
                slot = plan.forwarder_slot
                workers.append(ForwarderWorker(cluster, name, control, pair=pair, slot=slot))
            if plan.has_endpoints:
                workers.append(_endpoint_worker(cluster, plan, control, limits, name, pair))
    for worker in workers:
        worker.traffic.wanted = plan.watched
    return workers


def _endpoint_worker(
    cluster: Cluster,
    plan: Plan,
    control: Control,
    limits: Limits | None,
    instance: str,
    pair: str | None,
) -> EndpointWorker:
    return EndpointWorker(
        cluster,
        instance,
        control,
        pair=pair,
        slot=plan.slot,
        standby=plan.standby,
        tuning=Tuning(
            limits,
            plan.cache_bytes,
            plan.pace,
            trims_every=None if plan.keep is None else every(plan.keep),
        ),
    )
