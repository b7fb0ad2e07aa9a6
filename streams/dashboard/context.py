"""The data sources of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streams.dashboard.figures import Figures
from streams.dashboard.network import Network
from streams.dashboard.slow import Slow
from streams.kafka import Cluster


@dataclass(frozen=True, slots=True)
class Context:
    """The store's figures, the topology, the cluster if there is one, and the clock.

    ``slow`` reads slow sources, such as Kafka; ``now`` returns epoch milliseconds.
    """

    figures: Figures
    network: Network
    cluster: Cluster | None
    slow: Slow
    now: Callable[[], int]
