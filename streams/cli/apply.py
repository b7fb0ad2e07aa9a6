"""``hopline apply``: make a cluster live by a topology."""

from __future__ import annotations

import json
import time
from dataclasses import asdict

import click

from streams.cli.answer_options import format_option, timeout_option
from streams.cli.options import cluster_of, cluster_options
from streams.cli.topology_argument import TopologyArgument
from streams.errors import UsageError
from streams.kafka import Deployment, deploy, preview
from streams.live.open_dialogs import Broken, find_broken
from streams.topology import Severity, Topology

_BAD_NEWS = 1
_MOST = 10
"""Dialogs that are named one by one."""


@click.command()
@click.argument("topology", type=TopologyArgument())
@click.option("--prune", is_flag=True, help="Remove what the topology does not have.")
@click.option("--force", is_flag=True, help="Apply it even if it breaks open dialogs.")
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@timeout_option()
@format_option()
@cluster_options
@click.pass_context
def apply(
    ctx: click.Context,
    topology: Topology,
    prune: bool,
    force: bool,
    dry_run: bool,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Create the topics of TOPOLOGY and write its objects into the catalog, in one transaction.

    Running workers take a new version over within a second. Nothing is removed without --prune.
    The plan is shown first. If open dialogs could not go on by it (their service or database would
    be gone, or what they talk to could not be reached), nothing is done without --force, and the
    exit code is 1.
    """
    refuse_broken(topology)
    cluster = cluster_of(bootstrap, prefix)
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    planned = preview(cluster, topology, prune=prune)
    broken = list(find_broken(cluster, topology, planned.change, time.time()))
    if format_ == "text":
        _show(planned, broken)
    refused = bool(broken) and not force
    stays = dry_run or refused
    done = planned if stays else deploy(cluster, topology, prune=prune)
    if format_ == "json":
        click.echo(json.dumps(_as_json(done, broken), indent=2))
    elif refused:
        click.echo(f"nothing was done: {len(broken)} open dialogs would break; --force does it")
    elif not dry_run:
        click.echo(f"catalog version {done.version}")
    if refused:
        ctx.exit(_BAD_NEWS)


def _show(plan: Deployment, broken: list[Broken]) -> None:
    rows = []
    for topic in plan.topics:
        missing = topic.removesuffix(" does not exist")
        rows.append(("+" if missing != topic else "~", f"topic {missing}"))
    change = plan.change
    rows += [("+", k) for k in change.added]
    rows += [("~", k) for k in change.changed]
    rows += [("-", k) for k in change.removed]
    for mark, what in rows:
        click.echo(f"  {mark} {what}")
    if not rows:
        click.echo("nothing to do")
    for each in broken[:_MOST]:
        side = "initiator" if each.is_initiator else "target"
        where = f"{each.instance}/{each.database}/{each.service}"
        click.echo(f"  ! {each.conversation} ({side}, {where}): {each.why}")
    if len(broken) > _MOST:
        click.echo(f"  ! and {len(broken) - _MOST} more")


def _as_json(done: Deployment, broken: list[Broken]) -> dict[str, object]:
    return {
        "version": done.version,
        "topics": list(done.topics),
        "added": list(done.change.added),
        "changed": list(done.change.changed),
        "removed": list(done.change.removed),
        "breaks": [{**asdict(each), "conversation": str(each.conversation)} for each in broken],
    }


def refuse_broken(topology: Topology) -> None:
    """Raise UsageError with the first finding of severity error: such a topology is not applied."""
    broken = [f for f in topology.findings if f.severity is Severity.ERROR]
    if broken:
        first, more = broken[0], len(broken) - 1
        raise UsageError(
            f"{first.file}:{first.line}: {first.message}" + (f" ({more} more)" if more else ""),
            first.remedy,
        )
