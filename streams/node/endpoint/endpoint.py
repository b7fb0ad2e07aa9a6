"""All conversation endpoints of a partition: committed state, and transactions on it.

Only :meth:`Endpoint.merge` changes the state, with a committed transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from streams.node.endpoint.bodies import Bodies
from streams.node.endpoint.committed import CommittedState
from streams.node.endpoint.flows import UNLIMITED
from streams.node.endpoint.overlay import Turns
from streams.node.endpoint.route_requests import Requests
from streams.node.endpoint.timers import AT_ONCE
from streams.node.endpoint.transaction import Transaction
from streams.protocol import DialogKey
from streams.protocol.seen import remember


class Taken(NamedTuple):
    """The dialogs that a transaction has taken from an endpoint; ``None`` means all available ones.

    ``due``: the result of :meth:`Endpoint.take_due`, to be returned if unused. ``room``: the
    dialogs whose turn it is, from :meth:`Endpoint.take_turns`. ``probes``: the dialogs to
    re-evaluate, from :meth:`Endpoint.next_probes`.
    """

    due: Iterable[DialogKey] | None = None
    room: Sequence[DialogKey] | None = None
    probes: Sequence[DialogKey] | None = None


NOTHING_TAKEN = Taken()


class Endpoint(CommittedState):
    """All conversation endpoints of one instance and partition."""

    __slots__ = ()

    def begin(
        self,
        bodies: Bodies,
        now: int,
        *,
        timers: bool = True,
        opens: bool = True,
        most: int = UNLIMITED,
        taken: Taken = NOTHING_TAKEN,
    ) -> Transaction:
        """Open a transaction at ``now``; its first inputs are due timers, if any.

        ``most`` is as in Transaction, and ``opens`` is as in Turns.
        """
        due, room, probes = taken
        self.advance(now)
        if room is None:
            room = self.take_turns(most) if opens and timers else ()
        turns = Turns(room, opens)
        tx = Transaction(self, bodies, now, self.left_out, timers, most, turns)
        if timers:
            tx.due(self.take_due(now) if due is None else due)
            tx.wake(self.next_probes(AT_ONCE) if probes is None else probes)
        return tx

    def merge(self, tx: Transaction, out_end: int) -> None:
        """Merge a committed transaction; ``out_end`` is the position of its last copy."""
        for kept in map(self.dialogs.kept, tx.probed):
            if kept is not None:
                self._probes.pop(kept, None)
        for where in tx.turns.answered:
            self.flows.answer(where, tx.now)
        for key, machine in tx.machines.items():
            dialog = machine.dialog
            if key in tx.transmitted:
                dialog.last_copy = out_end
            if machine.forgotten:
                self._forget(key)
            else:
                self._put(key, dialog, tx.records.get(key), hurried=key in tx.turns.hurried)
                for number, chunk in tx.chunks.get(key, {}).items():
                    self.dialogs.put_chunk(key, number, chunk)
        for flow in tx.turns.added:
            flow.added_at = tx.now
        remember(self.seen, tx.seen, tx.forgotten_sources)
        for (database, _), request in tx.notices.changed.items():
            self.requests.setdefault(database, Requests()).put(request)
        for database, service in tx.notices.forgotten:
            self.requests[database].drop(service)
        for wanted in tx.notices.again:  # there may be many, for example after a catalog change
            self._probes.update(dict.fromkeys(self._waiting.for_service(*wanted)))

    def abandon(self, tx: Transaction) -> None:
        """Drop an aborted transaction and arm its timers again."""
        for key in tx.machines:
            self.arm(key)
