"""``hopline replay --dry-run``: the records of a replay, and their predicted destinations."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import click

from streams.capture.forecast import Forecast, Side, count, sides_of
from streams.capture.refused import predict_refusals
from streams.capture.rerun import Rerun
from streams.cli.look.replay_text import forecast_json, forecast_text
from streams.cli.options.shared import cluster_of
from streams.errors import SurroundingsError
from streams.errors.refusals import Refusals
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
    """Print the effect of a replay into these topics, with a topology or the cluster's catalog."""
    if topology is None:
        cluster = cluster_of(bootstrap, rerun.prefix)
        try:
            cluster.wait(timeout, tell)
        except SurroundingsError as error:
            remedy = "Give --topology, which needs no Kafka, or start the cluster."
            raise SurroundingsError(error.message, remedy) from error
        topology = catalog_topology(cluster)
    forecast = refused = None
    if topology is not None:
        forecast, refused = _foretold(rerun, topology)
    about = rerun, forecast, topics, refused
    click.echo(json.dumps(forecast_json(*about)) if format_ == "json" else forecast_text(*about))


def _foretold(rerun: Rerun, topology: Topology) -> tuple[Forecast, Refusals]:
    """Return the messages' destinations for all loops, and the refused statements for one loop."""
    places: dict[str, tuple[str, ...]] = {}
    now = time.time()

    def noted() -> Iterator[Side]:
        for side in sides_of(rerun.reader, rerun.naming, topology, now):
            if side.from_initiator and side.places:
                places.setdefault(side.original, side.places)
            yield side

    forecast = count(noted())
    refused = predict_refusals(rerun.records(), rerun.prefix, topology, places, int(now * 1000))
    return forecast, refused


def catalog_topology(cluster: Cluster) -> Topology | None:
    """Return the topology of a cluster's catalog; None if it is empty."""
    try:
        return read_catalog(cluster).topology
    except SurroundingsError:
        return None
