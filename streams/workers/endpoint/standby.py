"""A warm standby that follows the state of an active worker and takes over if the worker fails.

Two processes share a slot. The standby reads the state of all partitions continuously. When
heartbeats under the slot's name stop, the standby takes the slot. If the worker has written a final
heartbeat, the standby waits half as long (:meth:`SlotOwners.has_left`). By taking over the
transactional id, it fences a worker that is still alive, and aborts that worker's open transaction.
As the same static member, it gets the same partitions immediately. Then it only needs to read the
newest records.

If a standby could not read for many hours, it may have missed deletions, so it reads the state
again.
"""

from __future__ import annotations

import logging
import threading

from streams.kafka import partitions_of
from streams.node import FRESH
from streams.workers.control import Control
from streams.workers.endpoint.assignment import Assignment
from streams.workers.endpoint.restore import MISSED, Replay
from streams.workers.slot import Slot

log = logging.getLogger("hopline.endpoint")
ready = logging.getLogger("hopline.ready")

SILENCE = FRESH / 1000
"""Seconds without a heartbeat after which a slot is taken over."""
_SILENCE_AT_END = 0.5
"""The same limit after a final heartbeat. By then, the standby has read a later heartbeat of its
own.

Otherwise, a standby that resumes after a suspension could mistake a former owner's final heartbeat
for the last heartbeat of the slot.
"""
_LOOK = 0.2
"""Seconds between checks whether the slot is free; the partitions share this time."""


def own_name(instance: str, slot: str) -> str:
    """Return the name of the standby's own heartbeats, which it must read before it takes over.

    No instance has such a name, because it contains a slash.
    """
    return f"{instance}/standby/{slot}"


class Standby:
    """Wait for the slot of an instance's endpoint worker; ``is_ready``: all state has been read."""

    def __init__(self, control: Control, slot: Slot) -> None:
        self._control, self._slot = control, slot
        self.is_ready = False

    def wait(self, assignment: Assignment, topic: str, stop: threading.Event) -> bool:
        """Wait until the slot is free; then return ``True``, with the state in ``assignment.warm``.

        Returns ``False`` if the standby is stopped before the slot is free.
        """
        warm = assignment.warm
        for number in partitions_of(assignment.cluster, topic):
            warm[number] = assignment.replay(number)
        while not stop.is_set():
            self._follow(warm)
            self._confirm(assignment)
            if self._is_free():
                self._tell("takes over")
                self.is_ready = False
                return True
            if not self.is_ready and all(replay.at_end for replay in warm.values()):
                self.is_ready = True
                self._tell("stands by for")
        for replay in warm.values():
            replay.close()
        return False

    def _is_free(self) -> bool:
        """Return whether the slot is free: its worker has left, or sends no more heartbeats."""
        name = self._slot.heartbeat_name
        has_left = self._control.slot_owners(name).has_left(name)
        return not self._control.reachable(name, _SILENCE_AT_END if has_left else SILENCE)

    def _tell(self, does: str) -> None:
        ready.info("%s endpoint: %s slot %s", self._slot.instance, does, self._slot.name)

    def _confirm(self, assignment: Assignment) -> None:
        """Confirm or reread the state of only one partition, because a query may take a second."""
        warm = assignment.warm
        number = min(warm, key=lambda each: warm[each].confirm_at)
        if not warm[number].confirm():
            log.warning(MISSED, warm[number])
            warm[number].close()
            warm[number] = assignment.replay(number)
            self.is_ready = False

    def _follow(self, warm: dict[int, Replay]) -> None:
        for replay in warm.values():
            replay.follow(_LOOK / len(warm))
