"""``hopline replay --dry-run``: what a replay would send, and the predicted destinations."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import click

from streams.capture.forecast import count, sides_of
from streams.capture.rerun import Rerun
from streams.cli.look.replay_text import forecast_json, forecast_text
from streams.cli.options.shared import cluster_of
from streams.errors import SurroundingsError
from streams.kafka import Cluster, read_catalog
from streams.topology import Topology


def predict(
    rerun: Rerun,
    topics: list[str],
    topology: Topology | None,
    bootstrap: str,
    timeout: float,
    format_: str,
    tell: Callable[[str], None],
) -> None:
    """Print the effect of a replay into these topics, by a topology or the cluster's catalog."""
    if topology is None:
        cluster = cluster_of(bootstrap, rerun.prefix)
        try:
            cluster.wait(timeout, tell)
        except SurroundingsError as error:
            remedy = "Give --topology, which needs no Kafka, or start the cluster."
            raise SurroundingsError(error.message, remedy) from error
        topology = catalog_topology(cluster)
    forecast = None
    if topology is not None:
        forecast = count(sides_of(rerun.reader, rerun.naming, topology, time.time()))
    about = rerun, forecast, topics
    click.echo(json.dumps(forecast_json(*about)) if format_ == "json" else forecast_text(*about))


def catalog_topology(cluster: Cluster) -> Topology | None:
    """Return the topology of a cluster's catalog; None if it is empty."""
    try:
        return read_catalog(cluster).topology
    except SurroundingsError:
        return None
