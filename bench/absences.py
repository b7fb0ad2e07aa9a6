"""Stop and restart the components that are absent while a backlog builds up."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing

from bench.backlog import QUEUE, QUEUE_IN, STILL, System
from bench.worker_processes import ENDPOINT, GATEWAY, TARGET
from streams.errors import SurroundingsError
from streams.kafka import Cluster, TopicPartition
from streams.wire import decode_presence


def wait_for_heartbeat(cluster: Cluster, instance: str) -> float:
    """Return when the next heartbeat of an instance has arrived."""
    with closing(cluster.consumer("bench.presence")) as consumer:
        where = TopicPartition(cluster.topics.presence, 0)
        where.offset = consumer.get_watermark_offsets(where, timeout=10)[1]
        consumer.assign([where])
        until = time.monotonic() + STILL
        while time.monotonic() < until:
            record = consumer.poll(0.2)
            if record is None or record.error() is not None:
                continue
            if decode_presence(record.value())["instance"] == instance:
                return time.monotonic()
    raise SurroundingsError(f"{instance} did not return.")


def start(system: System, name: str) -> float:
    """Start an instance again; return the time of its forwarder's first heartbeat."""
    system.workers.start(name)
    return wait_for_heartbeat(system.cluster, name)


def start_endpoint(system: System) -> float:
    """Start the target's endpoint worker again; return the time when it was ready."""
    system.workers.start(ENDPOINT)
    until = time.monotonic() + STILL
    while not system.workers.is_ready(ENDPOINT):
        if time.monotonic() > until:
            raise SurroundingsError(f"{ENDPOINT} did not return.")
        time.sleep(0.01)
    return time.monotonic()


def turn_queue(system: System, status: str) -> float:
    """Turn the target's queue off or on."""
    topics, text = system.cluster.topics, f"ALTER QUEUE {QUEUE} WITH STATUS = {status}"
    command = [sys.executable, "-m", "streams", "sql", "--at", QUEUE_IN, text, "--bootstrap",
               system.cluster.bootstrap, "--prefix", topics.prefix]  # fmt: skip
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic()


FRAMES = "frames"
"""The absence of the target's endpoint worker while its forwarder writes the whole backlog."""
ABSENCES: dict[str, tuple[Callable[[System], object], Callable[[System], float]]] = {
    "target": (lambda s: s.workers.stop(TARGET), lambda s: start(s, TARGET)),
    "gateway": (lambda s: s.workers.stop(GATEWAY), lambda s: start(s, GATEWAY)),
    "worker": (lambda s: s.workers.stop(ENDPOINT), start_endpoint),
    "queue": (lambda s: turn_queue(s, "OFF"), lambda s: turn_queue(s, "ON")),
}
ABSENCES[FRAMES] = ABSENCES["worker"]
"""How to stop a component, and how to restart it; the latter returns monotonic seconds."""
