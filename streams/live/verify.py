"""Verify that no message is lost: find sources, choose an engine, and compute the verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from streams.capture import CaptureReader, readers_of
from streams.errors import UsageError
from streams.kafka import Cluster, Hung, read_catalog
from streams.live.admin.statements import live_topology
from streams.live.engines import CaptureSource, Choose, ClusterSource, Engine, Positions, Source
from streams.report.account import Account, Judge
from streams.report.begins import Begins
from streams.report.dialog_filter import EVERYBODY, DialogFilter
from streams.report.facts import ALWAYS, Span
from streams.report.gather import Gatherer
from streams.report.read import begins_of
from streams.report.sites import Sites
from streams.report.snapshot import Snapshot, take_snapshots
from streams.topology import Topology
from streams.wire import MalformedError
from streams.wire.state import decode_positions


@dataclass(frozen=True, slots=True)
class Asked:
    """The messages and dialogs to verify, and the number of exceptions to list."""

    span: Span = ALWAYS
    limit: int = 10_000
    dialog_filter: DialogFilter = EVERYBODY


@dataclass(frozen=True, slots=True)
class Verified:
    """The account, with its limitations.

    ``hung``: hung transactions in `event`; the account does not include the events after them.
    ``engine`` is the engine that has read the records.
    """

    account: Account
    notes: tuple[str, ...] = ()
    hung: tuple[Hung, ...] = ()
    engine: str = "local"


def verify_clusters(choose: Choose, clusters: Sequence[Cluster], asked: Asked) -> Verified:
    """Verify the topics of all clusters to which dialogs may extend.

    Raises UsageError if a cluster has no catalog, or if dialogs may leave these clusters.
    """
    now = time.time_ns() // 1_000_000
    topologies = [live_topology(read_catalog(cluster)) for cluster in clusters]
    _demand_all(topologies)
    snapshots = take_snapshots(list(zip(clusters, topologies, strict=True)))
    sites = reduce(Sites.joined, (snapshot.sites for snapshot in snapshots))
    hung = tuple(each for snapshot in snapshots for each in snapshot.hung)

    def begins() -> Begins:
        found = reduce(Begins.__or__, map(begins_of, clusters, topologies))
        return replace(found, events_end=bool(hung))

    with choose(sum(snapshot.records for snapshot in snapshots)) as engine:
        parts = zip(clusters, snapshots, strict=True)
        sources = [_of_cluster(engine, *part) for part in parts if part[1].ranges]
        account = _judged(engine, sources, sites, now, asked, begins)
        notes = *account.notes, *map(_hidden, hung)
        return Verified(account, notes, hung, engine.name)


def _of_cluster(engine: Engine, cluster: Cluster, snapshot: Snapshot) -> Source:
    state = snapshot.of(cluster.topics.dialog(""))
    positions = engine.survey_cluster(cluster, state)
    read = _read([(positions, snapshot.sites)])
    return ClusterSource(snapshot.sites, read, cluster, snapshot.ranges)


def verify_captures(choose: Choose, files: Iterable[Path], asked: Asked) -> Verified:
    """Verify captures by the names of their topics, as of their latest time.

    Raises InputError for an incomplete capture.
    """
    readers = readers_of(files)
    counts = [reader.counts.records if reader.counts else None for reader in readers]
    with choose(None if None in counts else sum(n or 0 for n in counts)) as engine:
        surveyed = [(engine.survey_capture(r), Sites(r.metadata.prefix)) for r in readers]
        sources = list(_of_captures(readers, _read(surveyed)))
        latest = max((r.counts.last for r in readers if r.counts), default=0)
        now = latest if latest > 0 else time.time_ns() // 1_000_000
        account = _judged(engine, sources, Sites(""), now, asked, Begins)
        notes = *account.notes, *_stateless(surveyed)
        return Verified(account, notes, engine=engine.name)


def _of_captures(
    readers: Sequence[CaptureReader], read: Mapping[tuple[str, int], int]
) -> Iterator[Source]:
    for prefix in dict.fromkeys(reader.metadata.prefix for reader in readers):
        same = [reader for reader in readers if reader.metadata.prefix == prefix]
        yield CaptureSource(Sites(prefix), read, same, prefix)


def _judged(
    engine: Engine,
    sources: Sequence[Source],
    sites: Sites,
    now: int,
    asked: Asked,
    begins: Callable[[], Begins],
) -> Account:
    """Read and judge; repeat this if records were trimmed meanwhile or a rejection was unknown."""
    if not sources:
        return Account()
    trimmed, refused, overruled = begins(), frozenset[bytes](), frozenset[bytes]()
    while True:
        gatherer = Gatherer(sites, now, asked.span, refused, overruled)
        judge = Judge(gatherer, trimmed, asked.limit, asked.dialog_filter)
        account = engine.judge(sources, judge)
        before, trimmed = trimmed, begins()
        late = trimmed != before and not account.ledger.balanced
        if not late and account.is_settled(refused, overruled):
            return account
        refused, overruled = frozenset(account.refused), overruled | account.overruled


def _hidden(hung: Hung) -> str:
    return f"{hung} Copies are counted up to that offset."


_Placed = tuple[Positions, Sites]
"""Workers' positions in their state, and the owners of the topics."""


def _read(surveyed: Iterable[_Placed]) -> dict[tuple[str, int], int]:
    """Return how far each partition of ``cmd`` was read, according to the state."""
    found = {}
    for positions, sites in surveyed:
        for (topic, partition), raw in positions.items():
            place = sites.place_of(topic)
            if raw is not None and place is not None and place.kind == "dialog":
                try:
                    found[place.instance or "", partition] = decode_positions(raw).cmd
                except MalformedError:
                    continue  # a worker would not start with this record either
    return found


def _stateless(surveyed: Sequence[_Placed]) -> list[str]:
    """Return a sentence for each instance that has commands but no state."""
    places = [sites.place_of(topic) for positions, sites in surveyed for topic, _ in positions]
    homes = {
        kind: {place.instance for place in places if place is not None and place.kind == kind}
        for kind in ("cmd", "dialog")
    }
    silent = sorted(home or "" for home in homes["cmd"] - homes["dialog"])
    return [
        f"The capture has no state of {home}, so its commands count as not read." for home in silent
    ]


def _demand_all(topologies: Sequence[Topology]) -> None:
    """Raise UsageError if the other side of dialogs may be in another cluster."""
    here = {name for topology in topologies for name in topology.instances}
    for topology in topologies:
        for neighbour in topology.neighbours.values():
            if neighbour.name not in here:
                raise UsageError(
                    f"Routes lead to {neighbour.name} in the cluster {neighbour.cluster}: "
                    "the other side of these dialogs is in that cluster.",
                    "Add that cluster: --also HOST:PORT.",
                )
