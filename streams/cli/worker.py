"""``hopline worker``: the processes that move messages."""

from __future__ import annotations

import logging

import click

from streams.cli.options import cluster_of, cluster_options, log_to_stderr
from streams.errors import UsageError
from streams.kafka import read_catalog
from streams.workers import ROLES, Pace, Plan, Process, stop_on_signals


@click.command()
@click.argument("role", type=click.Choice([*ROLES, "both"]))
@click.option("--instance", "instances", multiple=True, metavar="NAME", help="Serve this one.")
@click.option("--all", "every", is_flag=True, help="Serve every instance of the catalog.")
@click.option(
    "--slot", default="0", show_default=True, help="This replica's name, the same at every start."
)
@click.option(
    "--pace",
    default="latency",
    show_default=True,
    type=click.Choice([pace.name.lower() for pace in Pace]),
    help="How long an endpoint's transactions are: long ones cost less CPU for each message.",
)
@click.option(
    "--timeout", default=30.0, show_default=True, help="Seconds to wait for Kafka and a catalog."
)
@click.option("--verbose", is_flag=True, help="Say what is assigned, restored and switched.")
@cluster_options
def worker(
    role: str,
    instances: tuple[str, ...],
    every: bool,
    slot: str,
    pace: str,
    timeout: float,
    verbose: bool,
    bootstrap: str,
    prefix: str,
) -> None:
    """Run workers until SIGTERM: then they drain, commit and leave.

    ROLE is forwarder (routes what is in transmission queues), endpoint (runs the dialogs) or both.
    Any number of processes may serve an instance. A killed one loses nothing: start it again.
    """
    log_to_stderr(verbose=verbose)
    logging.getLogger("hopline.ready").setLevel(logging.INFO)
    if bool(instances) == every:
        raise UsageError("Name the instances to serve.", "Give --instance NAME ... or --all.")
    cluster = cluster_of(bootstrap, prefix)
    if every:
        cluster.wait(timeout, lambda text: click.echo(text, err=True))
        topology = read_catalog(cluster).topology
        instances = tuple(topology.instances) if topology else ()
        if not instances:
            raise UsageError("The catalog is empty.", "Run 'hopline apply TOPOLOGY' first.")
    roles = ROLES if role == "both" else (role,)
    process = Process(
        cluster, Plan(roles, instances, slot, pace=Pace[pace.upper()]), timeout=timeout
    )
    stop_on_signals(process)
    process.run()
