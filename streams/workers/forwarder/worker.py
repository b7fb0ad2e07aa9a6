"""One replica of an instance's forwarder, from start to stop."""

from __future__ import annotations

import threading

from streams.kafka import Cluster
from streams.workers.control import Control
from streams.workers.event_counts import EventCounts, Traffic
from streams.workers.forwarder.local_producer import LocalProducer
from streams.workers.forwarder.loop import ForwarderLoop
from streams.workers.forwarder.offset_tracker import OffsetTracker
from streams.workers.forwarder.processor import Processor
from streams.workers.forwarder.restart_state import Lasting
from streams.workers.ownership import PairOwnership
from streams.workers.pulse import rest
from streams.workers.slot import Slot


class ForwarderWorker:
    """One replica of an instance's forwarder, whose :class:`ForwarderLoop` does the work.

    ``slot``, if any, names the worker across restarts. With ``pair``, the worker does not need a
    slot, and forwards messages from the databases of that mirrored pair while its instance is the
    principal.
    """

    role = "forwarder"
    loop = ForwarderLoop

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        control: Control,
        *,
        pair: str | None = None,
        slot: str = "",
    ) -> None:
        self.instance = instance
        self.ownership = PairOwnership(control, instance, pair)
        self._slot = Slot(instance, self.role, slot if pair is None else "")
        self._cluster, self._control = cluster, control
        self._processor: Processor | None = None
        self._lasting = Lasting.of(cluster, control)
        self.event_counts, self.traffic = EventCounts(), Traffic()

    @property
    def trim_points(self) -> dict[tuple[str, int], int]:
        """Return the offsets below which no record is needed; any thread may call this."""
        return {} if self._processor is None else self._processor.tracker.trim_points()

    @property
    def pending(self) -> tuple[int, int]:
        """Return the number of buffered frames, and their bytes; any thread may call this."""
        return len(self._lasting.buffered), self._lasting.buffered.size

    @property
    def decided(self) -> int:
        """Return the number of processed records; any thread may call this."""
        return self._lasting.decided

    @property
    def assigned(self) -> bool:
        """Return whether the worker has its partitions, or another instance has the pair."""
        return self.ownership.is_served

    def run(self, stop: threading.Event) -> None:
        """Forward until ``stop``; then drain: flush and commit.

        Raises FencedError if another worker owns the slot.
        """
        if not self._slot.name:
            self._work(stop)
            return
        self._slot.hold(self._control, stop, lambda: self._work(stop))

    def _work(self, stop: threading.Event) -> None:
        """Work with new Kafka clients; only buffered and in-flight copies survive."""
        cluster, control, tracker = self._cluster, self._control, OffsetTracker()
        local_producer = LocalProducer(
            cluster, self.instance, stop, event_counts=self.event_counts, traffic=self.traffic
        )
        processor = Processor(
            cluster, self.ownership, control, self._lasting, local_producer, tracker
        )
        self._processor = processor
        while self.ownership.begins(stop):
            loop = self.loop(cluster, control, self.ownership, self._slot, processor, self.traffic)
            try:
                loop.run(stop)
            finally:
                rest()
