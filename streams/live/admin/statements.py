"""Execute T-SQL on a running system: read the catalog, apply the text, publish the difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from streams.analysis.check.unenforced import unenforced_of
from streams.errors import UsageError
from streams.kafka import (
    CatalogState,
    Change,
    Cluster,
    change_for,
    create,
    publish,
    read_catalog,
    specs_of,
)
from streams.topology import Finding, Skipped, Topology, apply_sql, flatten
from streams.wire.specs import TopicSpec

_WITHOUT_EFFECT = frozenset({"PRINT"})
"""Statements that are allowed in a script but change nothing."""


@dataclass(frozen=True, slots=True)
class Script:
    """T-SQL for a database; ``file`` is its name in findings."""

    instance: str
    database: str
    text: str
    file: str = "<sql>"


@dataclass(frozen=True, slots=True)
class Planned:
    """The effect of a script on the catalog: objects, new topics, and the topology.

    ``refused``: statements that the engine would reject; if there are any, nothing may be
    published. ``left_out``: changes that the catalog does not store. ``unenforced``: settings that
    no worker enforces (TA-47).
    """

    wanted: Topology
    change: Change
    topics: tuple[TopicSpec, ...]
    refused: tuple[Finding, ...]
    left_out: bool
    before: Mapping[str, Mapping[str, Any]]
    after: Mapping[str, Mapping[str, Any]]
    unenforced: tuple[Finding, ...] = ()


def live_topology(state: CatalogState) -> Topology:
    """Return the catalog's topology; raise UsageError if it is empty."""
    if state.topology is None:
        raise UsageError("The catalog is empty.", "Run 'hopline apply TOPOLOGY' first.")
    return state.topology


def plan_script(
    cluster: Cluster, script: Script, now: float, state: CatalogState | None = None
) -> Planned:
    """Apply a script to the current catalog, in memory; ``now`` is in epoch seconds.

    ``state`` is the catalog for which the script was written, if it was already read. Raises
    InputError for syntax errors and UsageError for statements that are not DDL.
    """
    state = state or read_catalog(cluster)
    live = live_topology(state)
    wanted = apply_sql(live, script.instance, script.database, script.text, now, script.file)
    _refuse_skipped(wanted.skipped[len(live.skipped) :])
    before, after = flatten(live), flatten(wanted)
    change = change_for(state, wanted, prune=True)
    # The catalog's other objects may belong to a newer version.
    change = replace(change, removed=tuple(key for key in change.removed if key in before))
    there = {spec.name for spec in specs_of(live, cluster.topics)}
    return Planned(
        wanted,
        change,
        tuple(s for s in specs_of(wanted, cluster.topics) if s.name not in there),
        wanted.findings[len(live.findings) :],
        not change and wanted != live,
        before,
        after,
        tuple(f for f in unenforced_of(wanted, now) if f not in unenforced_of(live, now)),
    )


def publish_script(cluster: Cluster, planned: Planned) -> int:
    """Create topics and publish; return the catalog's version. Workers follow within a second.

    Raises SurroundingsError if another writer has changed the catalog since the plan was made.
    """
    assert not planned.refused, "a script that the engine would refuse is never published"
    if planned.topics:
        create(cluster, planned.topics)
    if not planned.change:
        return planned.change.base
    return publish(cluster, planned.wanted, planned.change)


def changed_fields(planned: Planned, key: str) -> tuple[tuple[str, Any, Any], ...]:
    """Return an object's changed fields, with their old and new values."""
    old, new = planned.before.get(key, {}), planned.after.get(key, {})
    names = sorted({*old, *new})
    return tuple((n, old.get(n), new.get(n)) for n in names if old.get(n) != new.get(n))


def _refuse_skipped(skipped: tuple[Skipped, ...]) -> None:
    for each in skipped:
        if each.kind.upper() not in _WITHOUT_EFFECT:
            raise UsageError(
                f"{each.file}:{each.line}:{each.column}: {each.kind} does not change "
                "the catalog; nothing was changed.",
                "Use `hopline query` for SELECT, and `hopline begin`, send, receive or end "
                "for dialogs.",
            )
