"""Answer route requests: look services up and change the live catalog."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from streams.errors import InputError, UsageError
from streams.kafka import CatalogState, Cluster, read_catalog
from streams.live.admin.statements import Script, live_topology, plan_script, publish_script
from streams.live.configuration.directory import Directory
from streams.node.endpoint.route_requests import MissingRoute, parse_missing_route
from streams.prose import clipped
from streams.services import answer, purge
from streams.services.notice import (
    NO_REQUEST,
    UNKNOWN,
    UNUSABLE,
    ErrorReply,
    asker,
    error_text,
    refusal_of,
)
from streams.topology import Database, Offer, Topology

log = logging.getLogger("hopline.notice")

_FILE = "MissingRoute"
_FRESH = 1.0
"""Seconds for which the last catalog is used to check whether a route exists. Reading the catalog
takes time, and applications may request a route repeatedly."""
Place = tuple[str, Database]
"""A database and the name of its instance."""


@dataclass(slots=True)
class _LastRead:
    """The topology that was read last, and the time at which it was read (epoch seconds)."""

    topology: Topology = field(default_factory=Topology)
    at: float = -inf


@dataclass(frozen=True, slots=True)
class Notices:
    """Answer databases that request a route; ``clock`` is in epoch seconds.

    The methods block until Kafka and the directory have responded. They raise SurroundingsError or
    KafkaException if Kafka or the directory is unavailable, or if another writer changed the
    catalog at the same time; the caller then retries.
    """

    cluster: Cluster
    directory: Directory
    clock: Callable[[], float] = time.time
    _last: _LastRead = field(default_factory=_LastRead)

    def answer(self, broker: str, body: bytes) -> ErrorReply | None:
        """Create the route that the database with this broker id requests, or return an error.

        The error may quote any broker id that a client has sent; characters that cannot be sent
        back are replaced.
        """
        refusal = self._answer(broker, body)
        return None if refusal is None else (refusal[0], error_text(refusal[1]))

    def _answer(self, broker: str, body: bytes) -> ErrorReply | None:
        asked = parse_missing_route(body)
        if asked is None:
            return NO_REQUEST, "only a MissingRoute is answered"
        offers, now = self.directory.find(asked.service), self.clock()
        # Read the catalog only for services in the directory, because any client may request
        # unknown names.
        refusal = refusal_of(asked, offers)
        if refusal is None:
            refusal = self._create_routes(broker, asked, offers, now)
        else:
            log.info(
                "%s requests a route to %s: %s", clipped(broker), clipped(asked.service), refusal[1]
            )
        for offer in offers:  # other users must not see the directory's location
            for breach in offer.breaches:
                log.error("%s: %s: %s", offer.source, offer.service, breach.detail)
        return refusal

    def _create_routes(
        self, broker: str, asked: MissingRoute, offers: Sequence[Offer], now: float
    ) -> ErrorReply | None:
        known = asker(self._last.topology, broker) if now - self._last.at < _FRESH else None
        if known is not None:
            found = answer(asked, offers, known[1].routes, now)
            if not found.sql:
                return found.refusal
        state = read_catalog(self.cluster)
        self._last.topology, self._last.at = live_topology(state), now
        place = asker(self._last.topology, broker)
        if place is None:
            return UNKNOWN, f"the catalog has no database with the broker id {broker}"
        found = answer(asked, offers, place[1].routes, now)
        failure = self._execute(place, found.sql, now, state)
        refusal = failure or found.refusal
        done = () if failure or not found.sql else (found.sql,)
        text = "\n".join((refusal[1], *done) if refusal else done) or "a route now exists"
        log.info(
            "%s/%s requests a route to %s: %s",
            place[0], place[1].name, clipped(asked.service), text,
        )  # fmt: skip
        return refusal

    def purge(self) -> None:
        """Drop the expired routes that were created here."""
        now = self.clock()
        topology = read_catalog(self.cluster).topology or Topology()
        for instance in topology.instances.values():
            for database in (*instance.databases.values(), instance.msdb):
                sql = "\n".join(purge(database.routes, now))
                if sql:
                    self._execute((instance.name, database), sql, now)
                    log.info("%s/%s: %s", instance.name, database.name, sql)

    def _execute(
        self, place: Place, sql: str, now: float, state: CatalogState | None = None
    ) -> ErrorReply | None:
        instance, database = place
        script = Script(instance, database.name, sql, _FILE)
        try:
            planned = plan_script(self.cluster, script, now, state)
        except (InputError, UsageError) as error:  # the name is not valid in T-SQL
            return UNUSABLE, error.message
        if planned.refused:
            return UNUSABLE, planned.refused[0].message
        publish_script(self.cluster, planned)
        return None
