"""``hopline repartition``: more partitions for an instance whose workers are stopped."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from streams.cli.options.answer import format_option, timeout_option
from streams.cli.options.shared import cluster_options
from streams.cli.options.statement import reached
from streams.live.admin.repartition import repartition as give_more


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

    Offline: stop what sends to the instance, let its workers run until everything is applied, then
    stop them too. Dialogs stay open, and what waits for another instance goes on waiting: each
    dialog is moved to its new partition whole, with the messages that it still needs. Kafka adds
    partitions and never takes any away.

    Agents must have committed what they have answered; one that does not exist any more cannot, and
    is left out by --ignore-application. If it does exist, its last statements take effect twice.

    Interrupted, it leaves an instance whose workers refuse to start; run it again, and it goes on.
    Afterwards write the number into the topology (`partitions:`), and start workers and
    applications again: who runs meanwhile may write to a wrong partition.

    \b
    hopline repartition SQL1 4
    """
    cluster = reached(bootstrap, prefix, timeout)
    done = give_more(cluster, instance, count, lambda text: click.echo(text, err=True), ignored)
    if format_ == "json":
        click.echo(json.dumps(asdict(done)))
        return
    for home in done.homes:
        click.echo(f"{home}: {done.before} > {done.partitions} partitions")
    click.echo(f"{done.moved:,} dialogs moved, catalog version {done.version}")
    click.echo(f"Write it into the topology, too: partitions: {done.partitions}")
