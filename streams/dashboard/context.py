"""The data sources of pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from streams.dashboard.figures import Figures, Trouble
from streams.dashboard.kafka_watch import KafkaWatch
from streams.dashboard.network import Network
from streams.dashboard.slow import Slow
from streams.kafka import Cluster


@dataclass(frozen=True, slots=True)
class Context:
    """The store's figures, the topology, the cluster if there is one, and the clock.

    ``slow`` reads slow sources, such as Kafka; ``now`` returns epoch milliseconds; ``kafka`` knows
    whether Kafka answers.
    """

    figures: Figures
    network: Network
    cluster: Cluster | None
    slow: Slow
    now: Callable[[], int]
    kafka: KafkaWatch = field(default_factory=lambda: KafkaWatch(None, lambda: 0))

    def troubles(self) -> dict[str, Trouble | None]:
        """Return why each source cannot be read: the store, the topology, and Kafka, if used.

        While Kafka is unavailable, so is its catalog, although the read may not have failed yet.
        """
        found = {"store": self.figures.trouble, "topology": self.network.trouble}
        if self.cluster is None:
            return found
        if self.network.of_catalog:
            found["topology"] = self.kafka.trouble or self.network.trouble
        return {**found, "kafka": self.kafka.trouble}
