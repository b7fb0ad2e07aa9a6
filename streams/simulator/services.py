"""The services that come with Hopline, run as applications: ``does: route`` and ``redirect``.

The rows of a router are durable together with its reading position and its commands, as everything
of an application is.
"""

from __future__ import annotations

from collections.abc import Callable

from streams.node import QueueMessage
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


def _received(message: QueueMessage) -> Received:
    return Received(
        Handle(message.conversation, is_initiator=not message.parties.from_initiator),
        message.header.message_id,
        message.header.sequence,
        message.header.type,
        message.body,
        message.parties.contract,
    )
