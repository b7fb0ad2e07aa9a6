"""``hopline dashboard``: serve the monitor's figures in a browser."""

from __future__ import annotations

from dataclasses import replace

import click
from click.core import ParameterSource

from streams.cli.options.settings import (
    config_option,
    properties_option,
    replication_option,
    setting_option,
)
from streams.cli.options.shared import cluster_of, prefix_option
from streams.cli.options.shown import refuse_store_password, refuse_token
from streams.cli.options.topology import find_folder
from streams.dashboard import DashboardConfig, serve
from streams.dashboard.config import new_token
from streams.kafka import Cluster
from streams.telemetry import address_of

_DEFAULT = DashboardConfig()


@click.command()
@click.option(
    "--store",
    default=_DEFAULT.store,
    show_default=True,
    metavar="URL",
    callback=refuse_store_password,
    help="Database of the monitor (SQLAlchemy URL): SQLite or PostgreSQL.",
)
@click.option(
    "--topology",
    metavar="FOLDER",
    help="Topology to show: a folder, or a shipped one.  [default: the cluster's catalog]",
)
@click.option(
    "--port",
    metavar="PORT",
    default=_DEFAULT.port,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 selects a free port.",
)
@click.option(
    "--host",
    default=_DEFAULT.host,
    show_default=True,
    help="Address to listen on; any other than loopback requires a token.",
)
@click.option(
    "--published",
    metavar="HOST:PORT",
    help="In a container: the address on the host at which its port is published. A loopback "
    "address requires no token.",
)
@click.option(
    "--token",
    envvar="HOPLINE_DASHBOARD_TOKEN",
    show_envvar=True,
    callback=refuse_token,
    help="Token that browsers must present; generated if other hosts can connect.",
)
@setting_option("", "bootstrap", "without a cluster")
@prefix_option
@replication_option
@properties_option
@config_option
@click.pass_context
def dashboard(
    ctx: click.Context,
    store: str,
    topology: str | None,
    port: int,
    host: str,
    published: str | None,
    token: str | None,
    bootstrap: str,
    prefix: str,
) -> None:
    """Serve a live dashboard of the monitor's results: overview, topology, dialogs.

    The dashboard is read-only, and listens only on this machine unless --host is given. No page
    loads anything from other servers. Without --topology and --bootstrap it shows only the content
    of the store.

    \b
    hopline dashboard --topology combined \\
        --store sqlite:///.hopline/demo/monitor.sqlite
    """
    config = DashboardConfig(
        store=store,
        host=host,
        port=port,
        published=address_of(published) if published else None,
        topology=find_folder(topology) if topology is not None else None,
        cluster=_cluster(ctx, bootstrap, prefix),
        token=token,
    )
    if not config.local and not token:
        config = replace(config, token=new_token())
    serve(config, lambda address: click.echo(f"The dashboard is at {address}"))


def _cluster(ctx: click.Context, bootstrap: str, prefix: str) -> Cluster | None:
    """Return the cluster if it was set explicitly; the default cluster may not run."""
    if ctx.get_parameter_source("bootstrap") is ParameterSource.DEFAULT:
        return None
    return cluster_of(bootstrap, prefix)
