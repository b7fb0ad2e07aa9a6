"""Services of the documentation as applications: ``does: route``, ``redirect`` and ``configure``.

The rows of a router are durable together with its reading position and its commands, as everything
of an application is.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.node import MissingRoute, QueueMessage, parse_missing_route
from streams.protocol import CommandKind
from streams.services import Handle, Received, Redirector, Router, Turn, to_service_name
from streams.simulator.instance import Instance
from streams.simulator.scenario import Application
from streams.simulator.statements import Statements


class DataDependent:
    """A data-dependent router, or its redirection, at one service of an instance."""

    def __init__(
        self, application: Application, instance: Instance, statements: Statements
    ) -> None:
        self._application = application
        self._instance = instance
        self._statements = statements
        self.rows: dict[Handle, Handle] = {}

    def route(self, message: QueueMessage) -> None:
        """Pass a message on, to the service that the dialog's first one names."""
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
        here = self._instance.world.instances[self._instance.name]
        return here.databases[self._application.database].broker_id

    def _take(self, message: QueueMessage, decide: Callable[[Received], Turn]) -> None:
        turn = decide(_received(message))
        self.rows.update(turn.stored)
        for gone in turn.deleted:
            self.rows.pop(gone, None)
        for action in turn.actions:
            self._instance.command(
                self._statements.act(action, self._application, self._instance.now)
            )


class ConfigurationService:
    """Make the routes that databases ask for (reference 2.5), where the address is known."""

    def __init__(
        self, application: Application, instance: Instance, statements: Statements
    ) -> None:
        self._routes = application.routes
        self._instance = instance
        self._statements = statements
        self._made = 0

    def configure(self, message: QueueMessage) -> None:
        """Create the route in the database that asks, and END; WITH ERROR where none is known."""
        asked = parse_missing_route(message.body)
        if asked is None:
            return
        address = self._routes.get(asked.service)
        said: dict[str, object] = {}
        if address is None:
            said = {"error_code": 1, "error_text": f"no address of {asked.service} is known"}
        else:
            self._made += 1
            self._create(asked, address, message.parties.from_broker)
        end = self._statements.answer(message, CommandKind.END, self._instance.now, **said)
        self._instance.command(end)

    def _create(self, asked: MissingRoute, address: str, asker: str) -> None:
        clauses = {
            "SERVICE_NAME": asked.service,
            "BROKER_INSTANCE": asked.broker,
            "ADDRESS": address,
        }
        stated = ", ".join(
            f"{name} = N'{_quoted(value)}'" for name, value in clauses.items() if value is not None
        )
        for name, instance in self._instance.world.instances.items():
            database = instance.with_broker_id(asker)
            if database is not None:
                text = f"CREATE ROUTE [Configured{self._made}] WITH {stated}"
                self._instance.around.sql(name, database.name, text)


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _received(message: QueueMessage) -> Received:
    return Received(
        Handle(message.conversation, is_initiator=not message.parties.from_initiator),
        message.header.message_id,
        message.header.sequence,
        message.header.type,
        message.body,
        message.parties.contract,
    )
