"""The committed state of an endpoint worker's partition: dialogs and timers.

A transaction only reads this state; ``endpoint`` merges the transactions that Kafka has committed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from streams.node.catalog_view import CatalogView, Contract, MessageType, Service
from streams.node.endpoint.dialogs import Dialogs, Kept
from streams.node.endpoint.flows import UNLIMITED, Flows
from streams.node.endpoint.groups import Groups
from streams.node.endpoint.retention import RetentionFloor, TrimPoint
from streams.node.endpoint.route_requests import Requests, anywhere, no_id
from streams.node.endpoint.timers import AT_ONCE, Timers
from streams.node.endpoint.waiting import Waiting
from streams.protocol import EVERYTHING, Dialog, DialogKey, Limits, Seen, Source, State
from streams.protocol.seen import MOST_SOURCES
from streams.routing import Instance, broker_key

_FORGOTTEN_AT_ONCE = 1_000
"""Maximum number of sources that a transaction may remove in addition to one for each source that
it adds; each removal takes a record."""


def _ignore() -> None:
    """Do nothing."""


@dataclass(slots=True)
class CommittedState:
    """All conversation endpoints of one instance and partition.

    ``left_out``: the local forwarder's committed position in ``out``; it is 0 until known, which
    delays all retries. ``applied_until``: all records appended to ``in`` before this time have been
    applied, so older keys may be removed. ``flight`` is the number of messages that may be in
    flight to one service before further messages wait for their turn (``flows``). ``gaps`` contains
    the dialogs with out-of-order fragments, by conversation and side. Route ``requests`` are
    grouped by database; ``fits`` returns whether a conversation belongs to this partition, and
    ``new_id`` returns an unpredictable id for a new request. ``working`` is called before each
    validation of a body, because the validation may take long. ``seen`` contains applied statements
    that an application may repeat. ``retention`` tracks which input records the dialogs still need.
    """

    instance: str
    catalog: CatalogView
    limits: Limits = field(default_factory=Limits)
    dialogs: Dialogs = field(default_factory=Dialogs)
    left_out: int = 0
    flight: int = UNLIMITED
    gaps: dict[tuple[uuid.UUID, bool], DialogKey] = field(default_factory=dict)
    applied_until: int = EVERYTHING
    requests: dict[str, Requests] = field(default_factory=dict)
    fits: Callable[[uuid.UUID], bool] = anywhere
    new_id: Callable[[], uuid.UUID] = no_id
    working: Callable[[], None] = _ignore
    seen: dict[Source, Seen] = field(default_factory=dict)
    retention: RetentionFloor = field(default_factory=RetentionFloor)
    flows: Flows = field(init=False)
    _now: int = 0
    _timers: Timers[Kept] = field(default_factory=Timers)
    _waiting: Waiting = field(default_factory=Waiting)
    _probes: dict[Kept, None] = field(default_factory=dict)
    _groups: Groups = field(default_factory=Groups)

    def __post_init__(self) -> None:
        self.flows = Flows(self.limits, self.flight)

    # --- the catalog -----------------------------------------------------------------------------

    @property
    def here(self) -> Instance:
        """Return this instance from the catalog."""
        return self.catalog.instances[self.instance]

    def service(self, database: str, name: str) -> Service | None:
        """Return a service of this instance."""
        return self.catalog.services.get((self.instance, database, name))

    def contract(self, database: str, name: str) -> Contract | None:
        """Return a contract of this instance."""
        return self.catalog.contracts.get((self.instance, database, name))

    def message_type(self, database: str, name: str) -> MessageType | None:
        """Return a message type of this instance."""
        return self.catalog.message_types.get((self.instance, database, name))

    def error_epoch(self, database: str) -> int:
        """Return how many times SET ERROR_BROKER_CONVERSATIONS was applied to the database."""
        return self.catalog.error_epochs.get((self.instance, database), 0)

    def members(self, database: str, group: uuid.UUID) -> Iterable[DialogKey]:
        """Return the open conversations of a group, which all have the same service."""
        return self._groups.members(database, group)

    def is_alive(self, dialog: Dialog) -> bool:
        """Return whether the database still has the dialog's broker id."""
        database = self.here.databases.get(dialog.database)
        if database is None:
            return False
        known, had = database.broker_id, dialog.broker_id
        return known == had or broker_key(known) == broker_key(had)

    def keeps_contract(self, dialog: Dialog, service: Service) -> bool:
        """Return whether the contract exists and, for a target, its service still accepts it."""
        if dialog.is_initiator:
            return self.contract(dialog.database, dialog.contract) is not None
        return dialog.contract in service.contracts

    def switch(self, catalog: CatalogView) -> None:
        """Switch to a new version of the catalog, and re-evaluate waiting dialogs now."""
        before = self._identities()
        self.catalog = catalog
        if self._identities() != before:
            for kept in self.dialogs.all_kept():
                if kept not in self._waiting:
                    self._waiting.put(kept, "")
        self._probes.update(dict.fromkeys(self._waiting))

    def _identities(self) -> tuple[object, ...]:
        """Return the values that end conversations when they change (NEW_BROKER, DROP SERVICE)."""
        databases, mine = self.here.databases.values(), self.instance
        return (
            {d.name: (d.broker_id, self.error_epoch(d.name)) for d in databases},
            {k: s.contracts for k, s in self.catalog.services.items() if k[0] == mine},
            {k for k in self.catalog.contracts if k[0] == mine},
        )

    # --- transactions ----------------------------------------------------------------------------

    def take_turns(self, most: int) -> tuple[DialogKey, ...]:
        """Return the dialogs that are next to transmit or retry."""
        return tuple(kept.key for kept in self.flows.turn(most, self._now))

    @property
    def has_turn(self) -> bool:
        """Return whether any dialog has its turn to transmit or retry."""
        return self.flows.has_turn(self._now)

    @property
    def next_due(self) -> int | None:
        """Return the earliest time at which a timer can be due (epoch milliseconds)."""
        return self._timers.next_due

    @property
    def has_probes(self) -> bool:
        """Return whether dialogs must be re-evaluated.

        This is necessary after a catalog change, after the end of a request, and while buffered
        messages can be delivered.
        """
        return bool(self._probes)

    def next_probes(self, most: int) -> tuple[DialogKey, ...]:
        """Return dialogs to re-evaluate; merging the transaction removes them from this list."""
        return tuple(kept.key for kept in islice(self._probes, min(most, AT_ONCE)))

    def restore(self, key: DialogKey, dialog: Dialog) -> None:
        """Add a committed dialog.

        A waiting dialog is re-evaluated, because catalog changes before a restart are unknown.
        """
        self._look_again(self._put(key, dialog))

    def _look_again(self, kept: Kept) -> None:
        if kept in self._waiting:
            self._probes[kept] = None

    def _put(
        self, key: DialogKey, dialog: Dialog, record: bytes | None = None, *, hurried: bool = False
    ) -> Kept:
        before = self.dialogs.get(key)
        kept = self.dialogs.put(key, dialog, record)
        self._index(kept, before, dialog, hurried=hurried)
        return kept

    def advance(self, now: int) -> None:
        """Set the current time before state is loaded."""
        self._now = now
        self._timers.advance(now)

    def sources_to_forget(self, seen: Mapping[Source, Seen]) -> tuple[Source, ...]:
        """Return the sources to remove when ``seen`` is added: the least recently used."""
        new = sum(source not in self.seen for source in seen)
        excess = len(self.seen) + new - MOST_SOURCES
        idle = (source for source in self.seen if source not in seen)
        return tuple(islice(idle, max(0, min(excess, new + _FORGOTTEN_AT_ONCE))))

    def load(self, key: DialogKey, record: bytes | None) -> None:
        """Apply a dialog's state record like :meth:`restore`; ``None`` removes the dialog."""
        before = self.dialogs.get(key)
        if record is not None:
            kept, dialog = self.dialogs.load(key, record)
            self._index(kept, before, dialog)
            self._look_again(kept)
        elif before is not None:
            self._forget(key)

    def _index(
        self, kept: Kept, before: Dialog | None, dialog: Dialog, *, hurried: bool = False
    ) -> None:
        key = kept.key
        is_open = dialog.state is not State.CD
        if before is not None and not (is_open and before.group == dialog.group):
            self._groups.remove(key, before.group)
        if is_open:
            self._groups.add(key, dialog.group)
        continues = bool(dialog.held) and dialog.continues
        touched = is_open and not self.is_untouched(dialog)
        if dialog.status or dialog.parked or continues or touched:
            self._waiting.put(kept, dialog.far_service)
            if continues and self._accepts(dialog):
                self._probes[kept] = None
        else:
            self._waiting.drop(kept)
            self._probes.pop(kept, None)
        self.flows.note(kept, before, dialog, hurried=hurried)
        if dialog.held:
            self.gaps[_side_of(key)] = key
        else:
            self.gaps.pop(_side_of(key), None)
        self._timers.arm(kept, dialog.due_at)
        self.retention.note(kept, dialog)

    def is_untouched(self, dialog: Dialog) -> bool:
        """Return whether the dialog has survived all changes to its database and service."""
        service = self.service(dialog.database, dialog.service)
        return (
            service is not None
            and self.is_alive(dialog)
            and dialog.error_epoch >= self.error_epoch(dialog.database)
            and self.keeps_contract(dialog, service)
        )

    def _accepts(self, dialog: Dialog) -> bool:
        """Return whether the queue of the dialog's service is on."""
        service = self.service(dialog.database, dialog.service)
        return service is not None and service.queue_on

    def _forget(self, key: DialogKey) -> None:
        kept, known = self.dialogs.kept(key), self.dialogs.forget(key)
        if kept is None or known is None:
            return
        self._waiting.drop(kept)
        self._probes.pop(kept, None)
        self.gaps.pop(_side_of(key), None)
        self._timers.arm(kept, None)
        self.retention.forget(kept)
        self.flows.forget(kept, known)
        self._groups.remove(key, known.group)

    def trim_point(self) -> TrimPoint | None:
        """Continue the search for the trim point; return it when finished.

        ``retention.begin`` starts it.
        """
        return self.retention.go_on(self._look)

    def _look(self, kept: Kept) -> Dialog | None:
        is_here = self.dialogs.kept(kept.key) is kept  # a new dialog may have the same key
        return self.dialogs.look(kept.key) if is_here else None

    def arm(self, key: DialogKey) -> None:
        """Return a dialog's unused turn."""
        kept, dialog = self.dialogs.kept(key), self.dialogs.get(key)
        if kept is not None and dialog is not None:
            self._timers.arm(kept, dialog.due_at)
            self.flows.note(kept, dialog, dialog, hurried=False)

    def take_due(self, now: int, most: int = AT_ONCE) -> list[DialogKey]:
        """Take due dialogs, at most a thousand."""
        taken = self._timers.take(now, min(most, AT_ONCE))
        return [kept.key for kept in taken if not self._postpones(kept, now)]

    def _postpones(self, kept: Kept, now: int) -> bool:
        """Postpone the removal of a key while ``in`` contains unread records."""
        if self.applied_until >= now:
            return False
        dialog = self.dialogs.get(kept.key)
        if dialog is None or dialog.forget_at is None or dialog.forget_at <= self.applied_until:
            return False
        if dialog.retry_at is not None and dialog.retry_at <= now:
            return False
        self._timers.arm(kept, now + self.limits.recheck)
        return True


def _side_of(key: DialogKey) -> tuple[uuid.UUID, bool]:
    """Return the conversation of an endpoint, and whether the endpoint is the initiator."""
    _, conversation, is_initiator = key
    return conversation, is_initiator
