"""The end of a transaction: dialogs transmit what waits for room in their windows, by turns.

What was accepted while the window was full waits in ``cmd``, and nothing else transmits it
(docs/decisions/0025).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from streams.node.flows import Flow
from streams.node.groups import DialogKey

if TYPE_CHECKING:
    from streams.node.transaction import Transaction


@dataclass(slots=True)
class Turns:
    """The dialogs ``room``, whose turn it is, and with ``opens`` those that the transaction opens.

    ``hurried`` are dialogs that have retried at their turn, ``added`` the flows of all that had a
    turn: both are known when it is committed.
    """

    room: Sequence[DialogKey] = ()
    opens: bool = True
    hurried: set[DialogKey] = field(default_factory=set)
    added: list[Flow] = field(default_factory=list)

    def take(self, tx: Transaction) -> None:
        """Let dialogs transmit, as far as there is room in the transaction and in their flows.

        At least a quarter of the transaction is for them, however much of it is new. Each transmits
        a window, and one of few more: what is left of the flow, if they all had as much.
        """
        left = max(tx.most - tx.planned, tx.most // 4, 1)
        waiting = self._waiting(tx)
        flows = tx.endpoint.flows
        dialogs = Counter(service for service in waiting.values())
        rooms, shares = dict[str, int](), dict[str, int]()
        for key, service in waiting.items():
            if left <= 0:
                break
            flow = flows.named(service)
            if service not in rooms:
                rooms[service] = room = flows.room(flow, tx.now)
                shares[service] = max(tx.endpoint.limits.window, room // dialogs[service])
                if room > 0:
                    self.added.append(flow)
            if rooms[service] > 0:
                used = self._transmit(tx, key, flow, min(left, rooms[service], shares[service]))
                left, rooms[service] = left - used, rooms[service] - used

    def _waiting(self, tx: Transaction) -> dict[DialogKey, str]:
        """Return the dialogs that may have a turn, the first one first, and their services."""
        limits = tx.endpoint.limits
        opened = tx.machines.items() if self.opens else ()
        own = (key for key, machine in opened if machine.dialog.has_room(limits))
        found: dict[DialogKey, str] = {}
        for key in chain(self.room, own):
            dialog = tx.dialog(key)
            if dialog is not None:
                found[key] = dialog.far_service
        return found

    def _transmit(self, tx: Transaction, key: DialogKey, flow: Flow, most: int) -> int:
        """Let a dialog retry, or transmit what waits; returns how many will be in flight by it.

        What this transaction has done to the dialog counts: where it was acknowledged or has ended
        nothing is lost, and where its timer was due it has retried.
        """
        committed, machine = tx.endpoint.dialogs.get(key), tx.machine(key)
        assert machine is not None
        tx.heed(machine)
        if key not in flow.lost or flow.stalled or not machine.dialog.is_retrying:
            return machine.fill_window(most)
        has_retried = key in self.hurried or (
            committed is not None and committed.attempt < machine.dialog.attempt
        )
        self.hurried.add(key)
        return 0 if has_retried else machine.retry()


__all__ = ["Turns"]
