"""The state that survives a restart of a forwarder's loop."""

from __future__ import annotations

from dataclasses import dataclass

from streams.kafka import Cluster
from streams.workers.control import Control
from streams.workers.forwarder.buffered_copies import BufferedCopies
from streams.workers.forwarder.remote_producers import RemoteProducers


@dataclass(slots=True)
class Lasting:
    """State that survives a restart of the loop: buffered and in-flight copies, a counter."""

    buffered: BufferedCopies
    remote_producers: RemoteProducers
    decided: int = 0

    @classmethod
    def of(cls, cluster: Cluster, control: Control) -> Lasting:
        """Return the initial state."""
        remote_producers = RemoteProducers(control.remote, cluster.topics)
        return cls(BufferedCopies(control.reachable), remote_producers)
