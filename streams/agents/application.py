"""A Faust application whose agents are services, instead of activated procedures.

    app = hopline_app("orders", instance="ServerB", database="DatabaseB")

    @app.service("//shop/OrderService")
    async def orders(dialog, message):
        await dialog.send(b"<accepted/>", type="//shop/Accepted")
        await dialog.end()

    if __name__ == "__main__":
        app.main()

All features of Faust are available: tables, timers, pages, ordinary agents, the command ``faust``.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from streams.agents.access import faust_credentials
from streams.agents.activation import Activation, activation_event
from streams.agents.attempt import Handler
from streams.agents.connected import ConnectedApp
from streams.agents.driver import Transport, consumer_of
from streams.agents.leaving import Worker
from streams.agents.queue_agent import Server
from streams.client.begin import Begin
from streams.client.id_secret import establish_secret
from streams.errors import UsageError
from streams.kafka import Cluster
from streams.protocol import StatementIds
from streams.settings import Replication, property_variables, setting_of, with_files_read
from streams.wire import Topics

_SESSION = 10.0
"""Session timeout in seconds, the same for all Hopline clients."""
_PATIENCE = 60.0
"""Seconds that the application waits for Kafka to confirm a command before it stops."""
_TELLING = 5.0
"""Seconds to wait, when stopping, for Kafka to confirm the event that reports the stop."""


class HoplineApp(ConnectedApp):
    """A Faust application in one database, created by :func:`hopline_app`."""

    def __init__(
        self, name: str, *, cluster: Cluster, instance: str, database: str, **options: Any
    ) -> None:
        super().__init__(name, cluster=cluster, instance=instance, database=database, **options)
        self.counts_alike = True
        """Whether tables get the same number of partitions as the queues."""
        self._servers: list[Server] = []
        self._active = False

    def service(  # type: ignore[override]
        self, *names: Any, contract: str | None = None
    ) -> Callable[[Handler], Handler]:
        """Serve services that share one queue; decorates ``async def handler(dialog, message)``.

        The agent is named after the first service. The services must accept ``contract``. Without
        names, this is Faust's own decorator for a class.
        """
        if len(names) == 1 and isinstance(names[0], type):
            return super().service(names[0])  # type: ignore[return-value]
        if not names:
            raise UsageError(
                "A service's name must not be empty.",
                'Write for example @app.service("//shop/OrderService").',
            )

        def decorate(handler: Handler) -> Handler:
            self._servers.append(Server(self, handler, names, contract))
            return handler

        return decorate

    async def on_first_start(self) -> None:
        """Find the queues of all services before any message is read."""
        if self.conf.store.scheme != "memory":  # an in-memory store uses no folder
            await super().on_first_start()
        if not (self.client_only or self.producer_only):
            await asyncio.to_thread(self._locate)

    def _locate(self) -> None:
        for server in self._servers:
            server.locate()
        topics = [server.topic for server in self._servers]
        for topic in topics:
            if topics.count(topic) > 1:
                raise UsageError(
                    f"Two agents read the queue {topic}.",
                    "Give all services of the queue to one agent.",
                )
        consumer_of(self).queues.update(topics)
        self._count_alike()
        if self._servers:
            secret = establish_secret(self.cluster, self.instance, self.conf.id)
            self._ids = StatementIds(secret)

    def _count_alike(self) -> None:
        """Give tables as many partitions as queues have, so that rows stay with their group."""
        if self._servers and self.counts_alike:
            self.conf.topic_partitions = max(server.partitions for server in self._servers)

    async def on_started(self) -> None:
        """Report that the queues are being read (event 163)."""
        await super().on_started()
        if not (self.client_only or self.producer_only):
            self._active = True
            await self._tell(Activation.STARTED)

    async def on_stop(self) -> None:
        """Report that the queues are no longer read, with the cause if the app failed."""
        if self._active:
            failed = self.crash_reason is not None
            await self._tell(Activation.ABORTED if failed else Activation.ENDED)
        await super().on_stop()

    async def _tell(self, what: Activation) -> None:
        """Report the event for each queue, as a best effort: an unavailable Kafka is ignored."""
        place, why = (self.instance, self.database), str(self.crash_reason or "")
        for server in self._servers:
            at = time.time_ns() // 1_000_000
            told = activation_event(what, place, server.queue, self.conf.id, at, why)
            sending = self.producer.send_and_wait(
                self.cluster.topics.event, None, told, None, None, None
            )
            with suppress(Exception):
                await asyncio.wait_for(sending, _TELLING)

    def _new_transport(self) -> Transport:
        return Transport(self.conf.broker_consumer, self)

    def _new_producer_transport(self) -> Transport:
        return Transport(self.conf.broker_producer, self)


def hopline_app(
    name: str,
    *,
    instance: str,
    database: str,
    bootstrap: str | None = None,
    prefix: str | None = None,
    member: str | None = None,
    properties: Mapping[str, str] | None = None,
    begin: Begin | None = None,
    **options: Any,
) -> HoplineApp:
    """Return a Faust application whose services are in a database; ``options`` are Faust's.

    ``name`` is the consumer group and part of the commands' causes. So an application with another
    name reads the queues from the beginning and issues all commands again. ``member`` is this
    process's stable name in the group, with which a killed process resumes immediately.
    ``bootstrap`` and ``prefix`` default to HOPLINE_BOOTSTRAP and HOPLINE_PREFIX. ``properties`` are
    librdkafka's: they are used to read the catalog, and Faust gets their TLS and SASL settings.
    Without ``properties``, variables such as HOPLINE_KAFKA_SASL_PASSWORD_FILE apply. ``begin`` has
    the same meaning as for a Receiver.
    """
    if options.get("processing_guarantee") not in (None, "at_least_once"):
        raise UsageError(
            "Faust's exactly_once fails on rebalance.",
            "Omit processing_guarantee; an agent's statements take effect exactly once without it.",
        )
    servers = bootstrap or _setting("bootstrap")
    known = _properties() if properties is None else properties
    replication = Replication(_setting("replication"))
    cluster = Cluster(servers, Topics(prefix or _setting("prefix")), known, replication)
    defaults = {
        "broker_credentials": faust_credentials(cluster.properties),
        "broker": [f"aiokafka://{server}" for server in servers.split(",")],
        "broker_session_timeout": _SESSION,
        "consumer_group_instance_id": member,
        "producer_request_timeout": _PATIENCE,
        "stream_wait_empty": False,  # a handler that waits for its own queue would block forever
        "topic_disable_leader": True,
        "topic_partitions": 1,
        "Worker": Worker,
    }
    app = HoplineApp(
        name, cluster=cluster, instance=instance, database=database, **{**defaults, **options}
    )
    app.counts_alike = "topic_partitions" not in options
    app.begin = begin
    return app


def _properties() -> dict[str, str]:
    said = with_files_read(dict(property_variables(os.environ)))
    return {name: str(sourced.value) for name, sourced in said.items()}


def _setting(name: str) -> str:
    setting = setting_of("", name)
    return os.environ.get(setting.variable) or str(setting.default)
