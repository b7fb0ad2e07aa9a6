"""Options of commands that apply a topology to one or several Kafka clusters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import click
from click.core import ParameterSource

from streams.cli.options.settings import credentials, replication
from streams.cli.options.shared import cluster_of
from streams.errors import UsageError
from streams.kafka import Cluster
from streams.live.parts import Part, cluster_of_part, parts_of
from streams.topology import Topology
from streams.wire import Topics

part_option = click.option(
    "--cluster",
    "chosen",
    metavar="NAME",
    help="Only this cluster of a topology that names several.",
)


def clusters_of_parts(
    topology: Topology, chosen: str | None, bootstrap: str, prefix: str
) -> Iterator[tuple[Part, Cluster]]:
    """Yield each part of a topology with its cluster; raise UsageError for a part without one.

    An undivided topology belongs to the cluster at ``--bootstrap``. If this option is set, a chosen
    part also belongs to this cluster. The address of any other part is in the topology, or in
    [clusters.NAME] of the settings.
    """
    ctx = click.get_current_context()
    source = ctx.get_parameter_source("bootstrap")
    parts = parts_of(topology, chosen)
    if len(parts) > 1 and source is ParameterSource.COMMANDLINE:
        raise UsageError(
            f"--bootstrap names one cluster; the topology has {len(parts)}.",
            f"Choose one, such as --cluster {parts[0].name}.",
        )
    for part in parts:
        if not part.name or (chosen and source is not ParameterSource.DEFAULT):
            yield part, cluster_of(bootstrap, prefix)
        else:
            cluster = cluster_of_part(part, Topics(prefix), credentials(ctx))
            yield part, replace(cluster, replication=replication(ctx))
