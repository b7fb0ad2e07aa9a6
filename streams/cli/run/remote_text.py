"""Format the result of ``hopline status --bootstrap`` as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams.cli.run.up_text import catalog_json, cluster_json, cluster_lines, obstacle_lines, row
from streams.live.remote import RemoteStatus, RemoteWorker, Unserved


def remote_lines(status: RemoteStatus) -> Iterator[str]:
    """Yield the lines of the text."""
    yield f"{status.health.value}: {status.bootstrap}, prefix {status.prefix}"
    if status.failure:
        yield row("kafka", status.failure)
        return
    yield from obstacle_lines(status)
    for worker in status.workers:
        slot = "" if worker.slot is None else f"slot {worker.slot}"
        yield row(worker.role, worker.instance, slot, _condition(status, worker))
    for each in status.unserved:
        yield row("no worker", f"{each.role} of {each.home}", _partitions(each))
    yield from cluster_lines(status)


def _condition(status: RemoteStatus, worker: RemoteWorker) -> str:
    if not worker.alive:
        return f"no heartbeat for {worker.age:,.0f} s"
    ready = "ready" if status.is_ready(worker) else "not ready"
    return f"{ready}, heartbeat {worker.age:.1f} s ago"


def _partitions(each: Unserved) -> str:
    numbers = ", ".join(map(str, each.partitions))
    return f"partition{'s' if len(each.partitions) > 1 else ''} {numbers}"


def remote_json(status: RemoteStatus) -> dict[str, Any]:
    """Return the status as plain values; ``age`` is in seconds."""
    return {
        "health": status.health.value,
        "bootstrap": status.bootstrap,
        "prefix": status.prefix,
        "error": status.failure or None,
        "instances": list(status.catalog.instances) if status.catalog else [],
        "workers": [
            {
                "role": worker.role,
                "instance": worker.instance,
                "slot": worker.slot,
                "replica": worker.replica,
                "age": worker.age,
                "alive": worker.alive,
                "ready": status.is_ready(worker),
            }
            for worker in status.workers
        ],
        "unserved": [
            {"instance": each.home, "role": each.role, "partitions": list(each.partitions)}
            for each in status.unserved
        ],
        "catalog": catalog_json(status.catalog),
        **cluster_json(status),
    }
