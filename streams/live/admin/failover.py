"""Fail over a mirrored pair, or an availability group, in a running system."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from streams.analysis.places import unknown
from streams.errors import UsageError
from streams.kafka import (
    Cluster,
    Consumer,
    TopicPartition,
    change_for,
    publish,
    read_catalog,
    watermarks,
)
from streams.live.admin.statements import live_topology
from streams.topology import Instance, MirroredPair, Topology, failover, pairs_of, principal_of
from streams.wire import MalformedError, claims_in, decode_presence

_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Moved:
    """A failover: old and new principal, with the epoch and version of the catalog.

    ``claimed``: the new principal has reported its role, so other instances send to it.
    """

    pair: str
    before: str | None
    now: str
    epoch: int
    version: int
    claimed: bool = False


def move_role(
    cluster: Cluster,
    pair: str,
    to: str,
    timeout: float,
    approve: Callable[[Moved], None] = lambda _: None,
) -> Moved:
    """Make an instance the principal of a pair; wait up to ``timeout`` seconds for its report.

    ``approve`` receives the plan, with the catalog's current version, and may raise an exception.
    Raises UsageError for an unknown pair, and for an instance that is not a partner or is already
    the principal; raises SurroundingsError if another writer changes the catalog at the same time.
    """
    state = read_catalog(cluster)
    live = live_topology(state)
    found, target = _asked(live, pair, to)
    before = principal_of(live, found.name)
    if before is not None and before.name == target.name:
        raise UsageError(
            f"{target.name} is already the principal of {found.name}.",
            f"Other partners: {', '.join(_others(found, target))}.",
        )
    wanted = failover(live, found.name, target.name)
    had = None if before is None else before.name
    plan = Moved(found.name, had, target.name, found.epoch + 1, state.version)
    approve(plan)
    with _presence(cluster) as consumer:
        moved = replace(plan, version=publish(cluster, wanted, change_for(state, wanted)))
        return replace(moved, claimed=_claims(consumer, moved, found, target, timeout))


def _asked(live: Topology, pair: str, to: str) -> tuple[MirroredPair, Instance]:
    pairs = pairs_of(live)
    found = next((p for name, p in pairs.items() if name.casefold() == pair.casefold()), None)
    if found is None:
        raise unknown("mirrored pair", pair, pairs, "The catalog")
    target = next((i for i in found.partners if i.name.casefold() == to.casefold()), None)
    if target is None:
        raise UsageError(
            f"{to} is not a partner of {found.name}.",
            f"Choose one of: {', '.join(sorted(i.name for i in found.partners))}.",
        )
    return found, target


def _others(pair: MirroredPair, target: Instance) -> list[str]:
    return sorted(i.name for i in pair.partners if i is not target) or ["none"]


@contextmanager
def _presence(cluster: Cluster) -> Iterator[Consumer]:
    """Yield a consumer that reads heartbeats written from now on."""
    topic = cluster.topics.presence
    consumer = cluster.consumer(f"{cluster.topics.prefix}reader")
    try:
        consumer.assign([TopicPartition(topic, 0, watermarks(consumer, topic, 0)[1])])
        yield consumer
    finally:
        consumer.close()


def _claims(
    consumer: Consumer, moved: Moved, pair: MirroredPair, target: Instance, timeout: float
) -> bool:
    brokers = {d.broker_id for d in pair.databases_of(target)}
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        message = consumer.poll(_POLL)
        if message is None or message.error() is not None:
            continue
        try:
            presence = decode_presence(message.value())
        except MalformedError:
            continue
        mine = [c for c in claims_in(presence) if c.broker in brokers and c.epoch >= moved.epoch]
        is_target = presence["instance"] == target.name
        if is_target and mine and all(claim.principal for claim in mine):
            return True
    return False
