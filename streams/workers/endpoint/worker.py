"""One replica of an instance's endpoint worker, from start to stop."""

from __future__ import annotations

import logging
import threading

from streams.kafka import Cluster
from streams.workers.control import Control
from streams.workers.endpoint.assignment import Assignment
from streams.workers.endpoint.loop import EndpointLoop
from streams.workers.endpoint.standby import Standby
from streams.workers.endpoint.transactions import Suffix, Transactions
from streams.workers.endpoint.tuning import AS_USUAL, Tuning
from streams.workers.event_counts import Committed, EventCounts, Traffic
from streams.workers.ownership import PairOwnership
from streams.workers.pulse import rest
from streams.workers.slot import UNNAMED, Slot

log = logging.getLogger("hopline.endpoint")


class EndpointWorker:
    """One replica of an instance's endpoint worker; ``slot``, if any, names it across restarts.

    With ``pair``, the worker runs the dialogs of that mirrored pair while its instance is the
    principal. A ``standby`` starts to work when its slot has no owner. :class:`EndpointLoop` does
    the work.
    """

    role = "endpoint"

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        control: Control,
        *,
        pair: str | None = None,
        slot: str = "",
        standby: bool = False,
        tuning: Tuning = AS_USUAL,
    ) -> None:
        self.instance = instance
        self.ownership = PairOwnership(control, instance, pair)
        self._cluster = cluster
        self._control = control
        # The next owner of the slot is the same static member, so it gets the partitions now.
        named = slot or (UNNAMED if standby or pair is not None else "")
        self._slot = Slot(str(self.ownership), self.role, named)
        self._tuning = tuning
        self._suffix = Suffix()
        self._standby = Standby(control, self._slot) if standby else None
        self.assignment = Assignment(cluster, instance, control, self.ownership, tuning)
        self.counts, self.traffic = Committed(), Traffic()

    def run(self, stop: threading.Event) -> None:
        """Run dialogs until ``stop``; raise FencedError if another worker owns the slot."""
        while self.ownership.begins(stop):
            try:
                self._serve(stop)
            except Exception as error:
                if self.ownership.confirm():
                    raise
                log.info("%s: the principal role was lost: %s", self.ownership, error)
            finally:
                rest()

    def _serve(self, stop: threading.Event) -> None:
        topic = self._cluster.topics.dialog(self.ownership.home)
        if self._standby is not None and not self._standby.wait(self.assignment, topic, stop):
            return
        # A worker that has lost a pair's slot may have lost the role, so it does not restart its
        # work.
        own = not self.ownership.may_go
        self._slot.hold(self._control, stop, lambda: self._work(stop), anew=own)

    def _work(self, stop: threading.Event) -> None:
        inputs, home = self.assignment.inputs, self.ownership.home
        transactions = Transactions(self._cluster, home, self._slot, inputs, stop, self._suffix)
        if not self.ownership.confirm():  # the new owner was fenced by mistake, and will restart
            return
        loop = EndpointLoop(
            self._control,
            self._slot,
            self.assignment,
            transactions,
            self._tuning,
            self.counts,
            self.traffic,
        )
        loop.run(stop)

    @property
    def held_back(self) -> int:
        """Return the number of partitions with a held-back statement."""
        return sum(owned.held_back is not None for owned in list(self.assignment.owned.values()))

    @property
    def assigned(self) -> bool:
        """Return whether the partitions are restored, or a standby has read all state."""
        if self._standby is not None and self._standby.is_ready:
            return True
        return self.ownership.is_served

    @property
    def committed(self) -> int:
        """Return the number of committed transactions."""
        return self.counts.transactions

    @property
    def event_counts(self) -> EventCounts:
        """Return the counts of the worker's events."""
        return self.counts.events

    @property
    def trim_points(self) -> dict[tuple[str, int], int]:
        """Return the offsets below which no record is needed; any thread may call this."""
        return {
            (topic, owned.number): position
            for owned in list(self.assignment.owned.values())
            for topic, position in zip(self.assignment.inputs, owned.trim_point or (), strict=False)
        }
