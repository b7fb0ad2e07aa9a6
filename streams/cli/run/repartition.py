"""``hopline repartition``: add partitions to an instance whose workers are stopped."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.confirm import Changes, confirm, yes_option
from streams.cli.options.shared import cluster_options
from streams.cli.options.statement import reached
from streams.live.admin.repartition import Repartitioned
from streams.live.admin.repartition import repartition as give_more
from streams.prose import counted, listed


@click.command()
@click.argument("instance")
@click.argument("count", type=click.IntRange(min=1))
@click.option(
    "--ignore-application",
    "ignored",
    multiple=True,
    metavar="NAME",
    help="Do not wait for uncommitted work of this application's agents.",
)
@yes_option
@timeout_option()
@format_option()
@cluster_options
def repartition(
    instance: str,
    count: int,
    ignored: tuple[str, ...],
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """Change the number of partitions of INSTANCE (or of a mirrored pair) to COUNT.

    This is an offline operation: stop all senders to the instance, let its workers apply
    everything, then stop them too. Dialogs stay open, and messages for other instances keep
    waiting: each dialog moves to its new partition with the messages that it still needs. Kafka can
    only add partitions, not remove them. At a terminal the command asks for confirmation.

    Agents must have committed their answers. Exclude an agent that no longer exists with
    --ignore-application. If the agent does still exist, its last statements take effect twice.

    After an interruption, workers of the instance refuse to start; run the command again to
    continue. Afterwards write the number into the topology (`partitions:`), and restart workers
    and applications: an application that is not restarted may write to the wrong partition.

    \b
    hopline repartition SQL1 4
    """
    cluster = reached(bootstrap, prefix, timeout)
    done = give_more(
        cluster, instance, count, lambda text: click.echo(text, err=True), ignored,
        lambda plan: confirm(Changes(cluster, (_planned(plan),))),
    )  # fmt: skip
    if format_ == "json":
        click.echo(json.dumps(asdict(done)))
        return
    for home in done.homes:
        click.echo(f"{home}: {done.before} > {counted(done.partitions, 'partition')}")
    click.echo(f"{counted(done.moved, 'dialog')} moved, catalog version {done.version}")
    click.echo(f"Set the number in the topology too: partitions: {done.partitions}")


def _planned(plan: Repartitioned) -> str:
    return (
        f"change the partitions of {listed(plan.homes)} from {plan.before} to {plan.partitions}; "
        "Kafka cannot remove them again"
    )
