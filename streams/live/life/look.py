"""Read a dialog's history from a cluster: its records, and the catalog that explains them."""

from __future__ import annotations

import uuid
from dataclasses import replace

from streams.kafka import Cluster, read_catalog
from streams.live.life.build import build_life
from streams.live.life.life import Life
from streams.live.life.read import Bounds, read_dialog
from streams.topology import Topology


def read_life(cluster: Cluster, conversation: uuid.UUID, bounds: Bounds | None = None) -> Life:
    """Return the history of a dialog; raise SurroundingsError if Kafka does not respond."""
    reading = read_dialog(cluster, conversation, bounds)
    catalog = read_catalog(cluster)
    topology = catalog.topology or Topology({})
    left_out = reading.left_out
    life = build_life(conversation, reading.records, topology, catalog.version, left_out)
    return replace(life, size=reading.size)
