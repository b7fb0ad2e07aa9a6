"""Verify on Spark that nothing is lost: find the sources, read them, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from streams.capture import readers_of
from streams.errors import UsageError
from streams.kafka import Cluster, Hung, read_catalog
from streams.live.admin.statements import live_topology
from streams.monitor import (
    ClusterRecords,
    Container,
    Slice,
    SparkSession,
    Surveyed,
    capture_records,
    kafka_records,
    source_options,
    sum_dialogs,
    survey_capture,
    survey_slice,
)
from streams.report.account import Account, Judge
from streams.report.begins import Begins
from streams.report.dialog_filter import EVERYBODY, DialogFilter
from streams.report.facts import ALWAYS, Span
from streams.report.gather import Gatherer
from streams.report.read import begins_of
from streams.report.record_reader import RecordReader
from streams.report.sites import Sites
from streams.report.snapshot import take_snapshots
from streams.topology import Topology
from streams.wire import MalformedError
from streams.wire.state import decode_positions


@dataclass(frozen=True, slots=True)
class Asked:
    """What to verify: messages and dialogs, and the number of exceptions to list."""

    span: Span = ALWAYS
    limit: int = 10_000
    dialog_filter: DialogFilter = EVERYBODY


@dataclass(frozen=True, slots=True)
class Verified:
    """The account, and its limitations.

    ``hung``: transactions on `event`; the events behind them are not in the account.
    """

    account: Account
    notes: tuple[str, ...] = ()
    hung: tuple[Hung, ...] = ()


def verify_clusters(spark: SparkSession, clusters: Sequence[Cluster], asked: Asked) -> Verified:
    """Verify the topics of clusters between which dialogs may cross.

    Raises UsageError if a cluster has no catalog, or if dialogs may leave these clusters.
    """
    now = time.time_ns() // 1_000_000
    topologies = [live_topology(read_catalog(cluster)) for cluster in clusters]
    _demand_all(topologies)
    snapshots = take_snapshots(list(zip(clusters, topologies, strict=True)))
    sites = reduce(Sites.joined, (snapshot.sites for snapshot in snapshots))
    sources = []
    for cluster, snapshot in zip(clusters, snapshots, strict=True):
        read = Slice(source_options(cluster), snapshot.ranges)
        if read.ranges:
            state = survey_slice(spark, read.only(cluster.topics.dialog("")))
            reader = RecordReader(snapshot.sites, _read((each, snapshot.sites) for each in state))
            sources.append(
                ClusterRecords(kafka_records(spark, read), cluster.topics.prefix, reader)
            )

    hung = tuple(each for snapshot in snapshots for each in snapshot.hung)

    def begins() -> Begins:
        found = reduce(Begins.__or__, map(begins_of, clusters, topologies))
        return replace(found, events_end=bool(hung))

    account = _judged(sources, sites, now, asked, begins)
    return Verified(account, tuple(map(_hidden, hung)), hung)


def verify_captures(spark: SparkSession, files: Iterable[Path], asked: Asked) -> Verified:
    """Verify captures, by the names of their topics; as of their latest time.

    Raises InputError for an incomplete capture.
    """
    readers = readers_of(files)
    containers = [
        Container(r.path, r.metadata.prefix, r.counts.records if r.counts else None)
        for r in readers
    ]
    surveyed = [
        (each, Sites(container.prefix))
        for container in containers
        for each in survey_capture(spark, container)
    ]
    read = _read(surveyed)
    sources = []
    for prefix in dict.fromkeys(c.prefix for c in containers):
        same = [c for c in containers if c.prefix == prefix]
        sources.append(
            ClusterRecords(capture_records(spark, same), prefix, RecordReader(Sites(prefix), read))
        )
    latest = max((r.counts.last for r in readers if r.counts), default=0)
    now = latest if latest > 0 else time.time_ns() // 1_000_000
    account = _judged(sources, Sites(""), now, asked, Begins)
    return Verified(account, tuple(_stateless(surveyed)))


def _judged(
    sources: Sequence[ClusterRecords],
    sites: Sites,
    now: int,
    asked: Asked,
    begins: Callable[[], Begins],
) -> Account:
    """Judge until nothing was trimmed meanwhile, and every rejection is known."""
    if not sources:
        return Account()
    trimmed, refused = begins(), frozenset[bytes]()
    while True:
        judge = Judge(
            Gatherer(sites, now, asked.span, refused), trimmed, asked.limit, asked.dialog_filter
        )
        account = sum_dialogs(sources, judge.judge, judge.plus)
        before, trimmed = trimmed, begins()
        late = trimmed != before and not account.ledger.balanced
        if not late and account.refused <= refused:
            return account
        refused = frozenset(account.refused)


def _hidden(hung: Hung) -> str:
    return f"{hung} Copies are counted up to that offset."


_Placed = tuple[Surveyed, Sites]
"""A partition's records, and their topic's owner."""


def _read(surveyed: Iterable[_Placed]) -> dict[tuple[str, int], int]:
    """Return up to where commands were read, from the state."""
    found = {}
    for each, sites in surveyed:
        place = sites.place_of(each.topic)
        if each.positions is not None and place is not None and place.kind == "dialog":
            try:
                found[place.instance or "", each.partition] = decode_positions(each.positions).cmd
            except MalformedError:
                continue  # no worker starts with it either
    return found


def _stateless(surveyed: Sequence[_Placed]) -> list[str]:
    """Report instances with commands but without state."""
    places = [sites.place_of(each.topic) for each, sites in surveyed]
    homes = {
        kind: {place.instance for place in places if place is not None and place.kind == kind}
        for kind in ("cmd", "dialog")
    }
    silent = sorted(home or "" for home in homes["cmd"] - homes["dialog"])
    return [
        f"The capture has no state of {home}: its commands count as not read." for home in silent
    ]


def _demand_all(topologies: Sequence[Topology]) -> None:
    """Raise if the other half of dialogs may be in another cluster."""
    here = {name for topology in topologies for name in topology.instances}
    for topology in topologies:
        for neighbour in topology.neighbours.values():
            if neighbour.name not in here:
                raise UsageError(
                    f"Routes lead to {neighbour.name} in the cluster {neighbour.cluster}: "
                    "the other half of such dialogs is there.",
                    "Add that cluster: --also HOST:PORT.",
                )
