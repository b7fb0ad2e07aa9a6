"""The committed state of an endpoint worker's partition: dialogs, and when each is due.

Changed in one way only: :meth:`Endpoint.merge` takes over a transaction that was committed.
"""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from streams.node.configuration import Request, anywhere
from streams.node.transaction import Bodies, DialogKey, Transaction
from streams.node.world import Contract, MessageType, Service, World
from streams.protocol import Dialog, Limits, State
from streams.routing import Instance, broker_key


@dataclass(slots=True)
class Endpoint:
    """All conversation endpoints of one instance and partition.

    ``left_out``: the local forwarder's committed position in ``out``; 0 until it is known, which
    holds every retry back. ``requests`` for routes are by database and service; ``fits`` tells
    whether a conversation lives in this partition.
    """

    instance: str
    world: World
    limits: Limits = field(default_factory=Limits)
    dialogs: dict[DialogKey, Dialog] = field(default_factory=dict)
    left_out: int = 0
    requests: dict[str, dict[str, Request]] = field(default_factory=dict)
    fits: Callable[[uuid.UUID], bool] = anywhere
    _timers: list[tuple[int, int, DialogKey]] = field(default_factory=list)
    _waiting: dict[DialogKey, None] = field(default_factory=dict)
    _groups: dict[tuple[str, uuid.UUID], dict[DialogKey, None]] = field(default_factory=dict)
    _changed: bool = True  # who starts does not know what was changed before
    _ticket: int = 0

    # --- the catalog -----------------------------------------------------------------------------

    @property
    def here(self) -> Instance:
        """Return this instance as the catalog has it."""
        return self.world.instances[self.instance]

    def service(self, database: str, name: str) -> Service | None:
        """Return a service of this instance."""
        return self.world.services.get((self.instance, database, name))

    def contract(self, database: str, name: str) -> Contract | None:
        """Return a contract of this instance."""
        return self.world.contracts.get((self.instance, database, name))

    def message_type(self, database: str, name: str) -> MessageType | None:
        """Return a message type of this instance."""
        return self.world.message_types.get((self.instance, database, name))

    def error_epoch(self, database: str) -> int:
        """Return how often the database was told to end its conversations with an error."""
        return self.world.error_epochs.get((self.instance, database), 0)

    def members(self, database: str, group: uuid.UUID) -> Iterable[DialogKey]:
        """Return the conversations of a group that are not closed; all have the same service."""
        return self._groups.get((database, group), ())

    def is_alive(self, dialog: Dialog) -> bool:
        """Tell whether the database still has the broker id that the dialog began with."""
        database = self.here.databases.get(dialog.database)
        if database is None:
            return False
        known, had = database.broker_id, dialog.broker_id
        return known == had or broker_key(known) == broker_key(had)

    def switch(self, world: World) -> None:
        """Take over a new version of the catalog; dialogs that wait for it look again at once."""
        before = self._identities()
        self.world = world
        self._changed = True
        if self._identities() != before:
            self._waiting.update(dict.fromkeys(self.dialogs))

    def _identities(self) -> dict[str, tuple[str, int, frozenset[str]]]:
        """Return what ends conversations when it changes: NEW_BROKER, DROP SERVICE, ..."""
        return {
            d.name: (d.broker_id, self.error_epoch(d.name), frozenset(d.services))
            for d in self.here.databases.values()
        }

    # --- transactions ----------------------------------------------------------------------------

    def begin(
        self,
        bodies: Bodies,
        now: int,
        *,
        timers: bool = True,
        due: Iterable[DialogKey] | None = None,
    ) -> Transaction:
        """Open a transaction at ``now``; its first inputs are the timers that are due, if any.

        ``due``: what :meth:`take_due` has returned before; whoever took it answers for it.
        """
        tx = Transaction(self, bodies, now, self.left_out, timers)
        if timers:
            tx.due(self.take_due(now) if due is None else due)
            if self._changed:
                tx.wake(self._waiting)
        return tx

    @property
    def next_due(self) -> int | None:
        """Return when the next timer is due (epoch milliseconds), early at worst."""
        return self._timers[0][0] if self._timers else None

    @property
    def has_probes(self) -> bool:
        """Tell whether dialogs wait to look again after a catalog change."""
        return self._changed and bool(self._waiting)

    def merge(self, tx: Transaction, out_end: int) -> None:
        """Take over a committed transaction; ``out_end`` is the position of its last copy."""
        self._changed = self._changed and not tx.timers
        for key, machine in tx.machines.items():
            dialog = machine.dialog
            if key in tx.transmitted:
                dialog.last_copy = out_end
            if machine.forgotten:
                self._forget(key)
            else:
                self.restore(key, dialog)

        for (database, service), request in tx.notices.changed.items():
            self.requests.setdefault(database, {})[service] = request

    def waiting_for(self, database: str, service: str) -> list[DialogKey]:
        """Return the dialogs of a database that wait to reach a service."""
        return [
            key
            for key in self._waiting
            if key[0] == database and self.dialogs[key].far_service == service
        ]

    def abandon(self, tx: Transaction) -> None:
        """Forget an aborted transaction: its timers are armed anew, its overlay is gone."""
        for key in tx.machines:
            if key in self.dialogs:
                self._arm(key, self.dialogs[key])

    def restore(self, key: DialogKey, dialog: Dialog) -> None:
        """Put a dialog into the state and arm its timer."""
        known, is_open = self.dialogs.get(key), dialog.state is not State.CD
        if known is None or known.state is not dialog.state or known.group != dialog.group:
            self._forget(key)
            if is_open:
                self._groups.setdefault((dialog.database, dialog.group), {})[key] = None
        self.dialogs[key] = dialog
        if dialog.status or dialog.parked or (is_open and not self._is_untouched(dialog)):
            self._waiting[key] = None
        else:
            self._waiting.pop(key, None)
        self._arm(key, dialog)

    def _is_untouched(self, dialog: Dialog) -> bool:
        """Tell whether nothing was done to the dialog's database or service that ends it."""
        return (
            self.is_alive(dialog)
            and dialog.error_epoch >= self.error_epoch(dialog.database)
            and self.service(dialog.database, dialog.service) is not None
        )

    def _forget(self, key: DialogKey) -> None:
        known = self.dialogs.pop(key, None)
        self._waiting.pop(key, None)
        if known is not None:
            group = self._groups.get((known.database, known.group))
            if group is not None and group.pop(key, self) is None and not group:
                del self._groups[known.database, known.group]

    def _arm(self, key: DialogKey, dialog: Dialog) -> None:
        due = dialog.due_at
        if due is not None:
            self._ticket += 1
            heapq.heappush(self._timers, (due, self._ticket, key))
        # What a dialog has outdated leaves only when it is due, which may be in 68 years.
        if len(self._timers) > 64 + 4 * len(self.dialogs):
            due_at = ((dialog.due_at, key) for key, dialog in self.dialogs.items())
            self._timers = [(t, n, k) for n, (t, k) in enumerate(due_at) if t is not None]
            heapq.heapify(self._timers)

    def take_due(self, now: int) -> list[DialogKey]:
        """Take what is due; an entry that its dialog has outdated is dropped on the way."""
        keys: dict[DialogKey, None] = {}
        while self._timers and self._timers[0][0] <= now:
            due, _, key = heapq.heappop(self._timers)
            dialog = self.dialogs.get(key)
            if dialog is not None and dialog.due_at == due:
                keys[key] = None
        return list(keys)
