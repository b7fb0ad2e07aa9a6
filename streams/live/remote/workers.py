"""Derive workers from heartbeats: instance, role, slot, and whether each is alive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from streams.live.remote.heartbeats import LastHeartbeat
from streams.node import FRESH, SILENCE

FORWARDER, ENDPOINT, STANDBY = "forwarder", "endpoint", "standby"


@dataclass(frozen=True, slots=True)
class RemoteWorker:
    """A worker, as of its last heartbeat ``age`` seconds ago; ``replica`` is its process.

    ``slot`` is None for a worker without a slot. ``alive`` means that the worker's heartbeats
    arrive on time.
    """

    role: str
    instance: str
    slot: str | None
    replica: str
    age: float
    alive: bool


def workers_of(heartbeats: Iterable[LastHeartbeat], instances: Iterable[str]) -> list[RemoteWorker]:
    """Return the workers of these instances; heartbeats of other names are ignored.

    Of several silent processes with one name, only the last is listed. If a process with the name
    is alive, no silent process is listed, because the live process has taken over. Workers that
    have stopped normally are omitted, and an active worker is not listed as a standby.
    """
    known = frozenset(instances)
    named: defaultdict[tuple[str, str, str | None], list[RemoteWorker]] = defaultdict(list)
    slots: dict[tuple[str, str], str] = {}
    for beat in heartbeats:
        place = _place(beat.name, known)
        if place is None or beat.left:
            continue
        role, instance, slot = place
        if role == FORWARDER and slot is not None:
            slots[instance, beat.replica] = slot
            place = role, instance, None
        named[place].append(RemoteWorker(*place, beat.replica, beat.age, _is_alive(beat, slot)))
    found = [worker for workers in named.values() for worker in _current(workers)]
    works = {(w.instance, w.replica) for w in found if w.role == ENDPOINT}
    return sorted(
        (
            _in_slot(worker, slots)
            for worker in found
            if worker.role != STANDBY or (worker.instance, worker.replica) not in works
        ),
        key=_order,
    )


def _place(name: str, instances: frozenset[str]) -> tuple[str, str, str | None] | None:
    """Parse the name of a slot, or the name of a forwarder, which is its instance's name.

    Both names may contain slashes.
    """
    if name in instances:
        return FORWARDER, name, None
    for role in (FORWARDER, ENDPOINT, STANDBY):
        instance, middle, slot = name.partition(f"/{role}/")
        if middle and instance in instances:
            return role, instance, slot
    return None


def _is_alive(beat: LastHeartbeat, slot: str | None) -> bool:
    """Return whether a worker counts as alive; a worker with a slot has a shorter limit."""
    limit = SILENCE if slot is None else FRESH / 1000
    return beat.age < limit * beat.period


def _current(workers: list[RemoteWorker]) -> Iterator[RemoteWorker]:
    """Yield a row for each live process; if none is alive, for the one with the last heartbeat."""
    by_replica: dict[str, RemoteWorker] = {}
    for worker in workers:
        before = by_replica.get(worker.replica)
        if before is None or worker.age < before.age:
            by_replica[worker.replica] = worker
    alive = [worker for worker in by_replica.values() if worker.alive]
    yield from alive or [min(by_replica.values(), key=lambda worker: worker.age)]


def _in_slot(worker: RemoteWorker, slots: dict[tuple[str, str], str]) -> RemoteWorker:
    if worker.role != FORWARDER:
        return worker
    return replace(worker, slot=slots.get((worker.instance, worker.replica)))


def _order(worker: RemoteWorker) -> tuple[str, str, str, str]:
    return worker.instance, worker.role, worker.slot or "", worker.replica
