"""``hopline apply``: deploy a topology to a cluster."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import click

from streams.analysis.check.unenforced import unenforced_of
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.confirm import Changes, confirm, step, yes_option
from streams.cli.options.parts import clusters_of_parts, part_option
from streams.cli.options.shared import cluster_options
from streams.cli.options.topology import TopologyArgument
from streams.cli.unenforced import report_unenforced
from streams.errors import UsageError
from streams.kafka import Cluster, Deployment, demand_stateable, deploy, preview, read_catalog
from streams.live.admin.open_dialogs import Broken, find_broken
from streams.live.parts import Part, parts_of, refuse_another
from streams.prose import counted, one_line
from streams.topology import Severity, Topology
from streams.wire import Topics
from streams.wire.acl import refuse_conflicts

_MOST = 10
"""The maximum number of dialogs that are listed individually."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """The plan for one cluster; after it is applied, its result."""

    part: Part
    cluster: Cluster
    plan: Deployment
    broken: list[Broken]


@click.command()
@click.argument("topology", type=TopologyArgument())
@part_option
@click.option("--prune", is_flag=True, help="Also remove objects that are not in the topology.")
@click.option("--force", is_flag=True, help="Apply the plan even if it breaks open dialogs.")
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@yes_option
@timeout_option()
@format_option()
@cluster_options
@click.pass_context
def apply(
    ctx: click.Context,
    topology: Topology,
    chosen: str | None,
    prune: bool,
    force: bool,
    dry_run: bool,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Create the topics of TOPOLOGY and write its objects into the catalog, in one transaction.

    Running workers use a new version within a second. Without --prune nothing is removed. The
    command prints the plan first, and in a terminal it asks for confirmation. If the plan would
    break open dialogs (their service or database would be gone, or they could not reach their other
    side), the command changes nothing unless --force is given, and the exit code is 1. The exit
    code is also 1 if topics have too few replicas, or if brokers leave transactions open for more
    than 15 s. Only an operator can fix these problems; in that case, everything else is still
    applied.

    If the instances name different clusters, each cluster gets its own share, at the address of
    the topology or the settings. The plans of all clusters are made before anything is changed.
    """
    refuse_broken(topology, prefix)
    report_unenforced(unenforced_of(topology, time.time()))
    parts = list(clusters_of_parts(topology, chosen, bootstrap, prefix))
    planned = [_plan(topology, *part, prune=prune, timeout=timeout) for part in parts]
    if format_ == "text":
        for each in planned:
            _show(each)
    count = sum(len(each.broken) for each in planned)
    refused = bool(count) and not force
    if not dry_run and not refused:
        confirm(*map(_changes, planned))
        planned = [_do(each, prune=prune, verbose=format_ == "text") for each in planned]
    for each in planned:
        for finding in filter(None, (*each.plan.findings, each.plan.warning)):
            click.echo(one_line(f"hopline: {finding}"), err=True)
    if format_ == "json":
        click.echo(json.dumps(_as_json(planned), indent=2))
    elif refused:
        click.echo(
            f"nothing was done: {counted(count, 'open dialog')} would break; use --force to apply "
            "anyway"
        )
    if refused or any(each.plan.findings for each in planned):
        ctx.exit(NOT_OK)


def _plan(
    whole: Topology, part: Part, cluster: Cluster, *, prune: bool, timeout: float
) -> _Planned:
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    plan = preview(cluster, part.topology, prune=prune)
    if plan.version:
        refuse_another(part, cluster, read_catalog(cluster))
    broken = find_broken(cluster, part.topology, plan.change, time.time(), whole)
    return _Planned(part, cluster, plan, list(broken))


def _changes(each: _Planned) -> Changes:
    rows = list(_rows(each.plan))
    marks = {"create": "+", "change": "~", "remove": "-"}
    steps = (step(verb, [what for m, what in rows if m == mark]) for verb, mark in marks.items())
    return Changes(each.cluster, tuple(steps))


def _do(each: _Planned, *, prune: bool, verbose: bool) -> _Planned:
    done = deploy(each.cluster, each.part.topology, prune=prune)
    if verbose:
        of = f" of {each.part.name}" if each.part.name else ""
        click.echo(f"catalog version {done.version}{of}")
    return replace(each, plan=done)


def _show(each: _Planned) -> None:
    broken, rows = each.broken, list(_rows(each.plan))
    if each.part.name:
        click.echo(f"cluster {each.part.name} at {each.cluster.bootstrap}")
    for mark, what in rows:
        click.echo(one_line(f"  {mark} {what}"))
    if not rows:
        click.echo("nothing to do")
    for one in broken[:_MOST]:
        side = "initiator" if one.is_initiator else "target"
        where = f"{one.instance}/{one.database}/{one.service}"
        click.echo(one_line(f"  ! {one.conversation} ({side}, {where}): {one.why}"))
    if len(broken) > _MOST:
        click.echo(f"  ! and {len(broken) - _MOST} more")


def _rows(plan: Deployment) -> Iterator[tuple[str, str]]:
    """Yield topics and objects, each with its mark."""
    for topic in plan.topics:
        missing = topic.removesuffix(" does not exist")
        yield "+" if missing != topic else "~", f"topic {missing}"
    yield from (("+", key) for key in plan.change.added)
    yield from (("~", key) for key in plan.change.changed)
    yield from (("-", key) for key in plan.change.removed)
    if plan.change.repairs:
        yield "~", "version (the last one is not usable)"


def _as_json(planned: Sequence[_Planned]) -> dict[str, object]:
    """Return the result of one cluster, or of several by name."""
    if not planned[0].part.name:
        return _one_as_json(planned[0].plan, planned[0].broken)
    return {"clusters": {p.part.name: _one_as_json(p.plan, p.broken) for p in planned}}


def _one_as_json(done: Deployment, broken: list[Broken]) -> dict[str, object]:
    return {
        "version": done.version,
        "topics": list(done.topics),
        "added": list(done.change.added),
        "changed": list(done.change.changed),
        "removed": list(done.change.removed),
        "findings": [*done.findings],
        "warning": done.warning,
        "breaks": [{**asdict(each), "conversation": str(each.conversation)} for each in broken],
    }


def refuse_broken(topology: Topology, prefix: str) -> None:
    """Raise an error for a topology that must not be applied.

    Raises UsageError if the topology has errors or contains passwords, and InputError if a queue
    names the group of another role.
    """
    broken = [f for f in topology.findings if f.severity is Severity.ERROR]
    if broken:
        first, more = broken[0], len(broken) - 1
        raise UsageError(
            f"{first.file}:{first.line}: {first.message}" + (f" ({more} more)" if more else ""),
            first.remedy,
        )
    demand_stateable(topology)
    for part in parts_of(topology):
        refuse_conflicts(part.topology, Topics(part.stated.prefix or prefix))
