"""Services of the documentation as applications: ``does: route``, ``redirect`` and ``configure``.

A router's rows are durable together with its reading position and its commands, like all of an
application's state.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.node import MissingRoute, QueueMessage, parse_missing_route
from streams.protocol import CommandKind
from streams.services import Handle, Incoming, Redirector, Router, Turn, answer, to_service_name
from streams.services.notice import UNKNOWN, ErrorReply, asker
from streams.simulator.instance import Instance
from streams.simulator.scenario import Application
from streams.simulator.statements import Statements
from streams.topology import Offer


class DataDependent:
    """A data-dependent router, or a redirecting service, at one service of an instance."""

    def __init__(
        self, application: Application, instance: Instance, statements: Statements
    ) -> None:
        self._application = application
        self._instance = instance
        self._statements = statements
        self.rows: dict[Handle, Handle] = {}

    def route(self, message: QueueMessage) -> None:
        """Forward a message to the service that the dialog's first message has selected."""
        router = Router(self._application.service, self._broker_id, to_service_name)
        self._take(message, lambda received: router.route(self.rows, received))

    def redirect(self, message: QueueMessage) -> None:
        """Answer with the name of the service."""
        self._take(
            message,
            Redirector(
                self._application.service,
                self._broker_id,
                to_service_name,
                self._application.type,
            ).route,
        )

    @property
    def _broker_id(self) -> str:
        here = self._instance.catalog.instances[self._instance.name]
        return here.databases[self._application.database].broker_id

    def _take(self, message: QueueMessage, decide: Callable[[Incoming], Turn]) -> None:
        turn = decide(_received(message))
        self.rows.update(turn.stored)
        for gone in turn.deleted:
            self.rows.pop(gone, None)
        for action in turn.actions:
            self._instance.command(
                self._statements.act(action, self._application, self._instance.now)
            )


class ConfigurationService:
    """Create the routes that databases request (reference 2.5), if the address is known."""

    def __init__(
        self, application: Application, instance: Instance, statements: Statements
    ) -> None:
        self._routes = application.routes
        self._instance = instance
        self._statements = statements

    def configure(self, message: QueueMessage) -> None:
        """Create the route in the requesting database, and END (WITH ERROR without an address)."""
        asked = parse_missing_route(message.body)
        if asked is None:
            return
        refusal = self._answer(asked, message.parties.from_broker)
        fields: dict[str, object] = {}
        if refusal is not None:
            fields = {"error_code": refusal[0], "error_text": refusal[1]}
        end = self._statements.answer(message, CommandKind.END, self._instance.now, **fields)
        self._instance.command(end)

    def _answer(self, asked: MissingRoute, broker: str) -> ErrorReply | None:
        around, address = self._instance.around, self._routes.get(asked.service)
        offers = () if address is None else (Offer(asked.service, address),)
        place = asker(around.topology(), broker)
        if place is None:
            return UNKNOWN, f"there is no database with the broker id {broker}"
        found = answer(asked, offers, place[1].routes, self._instance.now / 1000)
        if found.sql:
            around.sql(place[0], place[1].name, found.sql)
        return found.refusal


def _received(message: QueueMessage) -> Incoming:
    return Incoming(
        Handle(message.conversation, is_initiator=not message.parties.from_initiator),
        message.header.message_id,
        message.header.sequence,
        message.header.type,
        message.body,
        message.parties.contract,
    )
