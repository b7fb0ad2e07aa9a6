"""The route requests that one transaction begins, changes or removes.

:mod:`~streams.node.endpoint.route_requests` decides when a route is requested. A request is an
ordinary dialog of the database's system service. Its BEGIN and its single SEND are written to
``cmd`` as commands, so they are accepted, stored and retried like any other command. The database
itself reads the replies and issues END.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from streams.node.endpoint.committed import CommittedState
from streams.node.endpoint.route_requests import (
    MOST_IDS,
    BeginNotice,
    Configuration,
    Requests,
    TryAgain,
)
from streams.protocol import (
    BROKER_UNITS,
    NAME_UNITS,
    Command,
    CommandKind,
    Machine,
    Request,
    State,
    Status,
    is_too_long,
)
from streams.routing import SYSTEM_SERVICE


@dataclass(slots=True)
class Notices:
    """A transaction's changes to route requests; ``said`` contains the commands to write.

    Dialogs that wait for a (database, service) in ``again`` are re-evaluated next; the requests for
    those in ``forgotten`` are removed. ``now`` is in epoch milliseconds.
    """

    endpoint: CommittedState
    now: int
    said: list[Command] = field(default_factory=list)
    again: list[tuple[str, str]] = field(default_factory=list)
    forgotten: list[tuple[str, str]] = field(default_factory=list)
    _kept: dict[str, Configuration] = field(default_factory=dict)
    _ids: Iterator[uuid.UUID] = field(init=False)

    def __post_init__(self) -> None:
        """Limit the ids that the requests of the transaction may try."""
        self._ids = islice(iter(self.endpoint.new_id, None), MOST_IDS)

    @property
    def changed(self) -> dict[tuple[str, str], Request]:
        """Return the changed requests, by database and service."""
        return {
            (database, request.service): request
            for database, kept in self._kept.items()
            for request in kept.changed
        }

    def ask(self, wanted: Status) -> None:
        """Request the route that the forwarder's status names, unless a request is open.

        Names that are too long for any service or broker id are ignored, because they would be
        stored with the request.
        """
        service, broker = wanted.service, wanted.broker
        if service is None or is_too_long(service, NAME_UNITS):
            return
        if broker is not None and is_too_long(broker, BROKER_UNITS):
            return
        kept = self._of(wanted.database)
        if kept is not None:
            begun = kept.ask(service, broker, self.now)
            if begun is not None:
                self.said += _commands(begun, wanted.database, self.now)

    def is_open(self, database: str, conversation: uuid.UUID) -> bool:
        """Return whether a conversation is a request of a database."""
        kept = self._of(database)
        return kept is not None and kept.open(conversation) is not None

    def refused(self, command: Command) -> bool:
        """End the request to which a rejected command belongs; return whether there is one."""
        is_request = command.from_initiator and self.is_open(command.database, command.conversation)
        if is_request:
            self._ended(command.database, command.conversation)
        return is_request

    def found(self, database: str, service: str) -> None:
        """Record that a message to a service without a route was acknowledged."""
        kept = self._of(database)
        if kept is not None:
            kept.found(service)

    def close(self, machines: Iterable[Machine]) -> None:
        """End every request that the application has ended, and re-evaluate the waiting dialogs.

        Remove excess requests of the databases that have requests in this transaction.
        """
        for machine in machines:
            dialog = machine.dialog
            if dialog.service == SYSTEM_SERVICE and dialog.is_initiator:
                _answer(machine)
                if dialog.state is State.CD:
                    self._ended(dialog.database, dialog.conversation)
        for database, kept in self._kept.items():
            self.forgotten += ((database, service) for service in kept.forgotten(self.now))

    def _ended(self, database: str, conversation: uuid.UUID) -> None:
        kept = self._of(database)
        again = None if kept is None else kept.ended(conversation, self.now)
        if isinstance(again, TryAgain):
            self.again.append((database, again.service))

    def _of(self, database: str) -> Configuration | None:
        """Return a database's requests with the changes so far; ``None`` if it is unknown here."""
        kept, endpoint = self._kept.get(database), self.endpoint
        if kept is None and database in endpoint.here.databases:
            known = endpoint.requests.get(database) or Requests()
            kept = Configuration(self._ids, endpoint.limits, endpoint.fits, known)
            self._kept[database] = kept
        return kept


def _answer(machine: Machine) -> None:
    """End the conversation without a command if the other side has ended or failed."""
    if machine.dialog.state in (State.DI, State.ER):
        machine.end(-1)


def _commands(begun: BeginNotice, database: str, now: int) -> tuple[Command, Command]:
    begin_id = uuid.uuid5(begun.conversation, "BEGIN")
    return (
        Command(
            begun.conversation,
            begin_id,
            CommandKind.BEGIN,
            database,
            issued_at=now,
            from_service=begun.from_service,
            to_service=begun.to_service,
            contract=begun.contract,
            lifetime=begun.lifetime,
        ),
        Command(
            begun.conversation,
            begun.message_id,
            CommandKind.SEND,
            database,
            issued_at=now,
            type=begun.type,
            body=begun.body,
        ),
    )
