"""Request a missing route from an application: the Broker Configuration Notice (reference 2.5).

If the routing decision is ASK, the database begins a conversation with the configuration service
and sends one MissingRoute message. Only one request per service is open, regardless of the number
of conversations that wait for the service (9770). When the request's conversation ends, with or
without an error, all waiting conversations are retried. If there is still no route, the next
request is sent after the back-off of a retry (U-27), and only after the previous request has ended
(C-13). So an application that never ends a request gets no further requests for that service.
Requests do not have a timer, because each retry of a waiting conversation requests the route.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from xml.sax.saxutils import escape

from streams.protocol import Limits, Request
from streams.routing import CONFIGURATION_SERVICE, SYSTEM_SERVICE
from streams.system_names import NOTICE
from streams.xml_reader import parse_xml

MISSING_ROUTE = NOTICE + "/MissingRoute"
MOST_ENDED = 10_000
"""Maximum number of a database's ended requests in a partition, because applications choose the
names of services."""
OPEN_BYTES = 64 << 20
"""Maximum size in bytes of a database's open requests in a partition. Above this size, no new
request is made, and messages without a route wait until the configuration service has replied."""
REQUEST_BYTES = 4_096
"""Bytes counted for an open request and its dialog, in addition to the name of its service."""
MOST_IDS = 10_000
"""Maximum number of ids that a transaction's requests may try, so that the transaction ends in
time.

With more partitions than that, most requests are made only at a later retry of a conversation.
"""
_FORGOTTEN_AT_ONCE = 1_000
"""Maximum number of requests that a transaction may remove; each removal takes a record."""


@dataclass(frozen=True, slots=True)
class BeginNotice:
    """Begin this conversation and send its single message; ``lifetime`` in seconds."""

    conversation: uuid.UUID
    message_id: uuid.UUID
    lifetime: int
    body: bytes
    from_service: str = SYSTEM_SERVICE
    to_service: str = CONFIGURATION_SERVICE
    contract: str = NOTICE
    type: str = MISSING_ROUTE


@dataclass(frozen=True, slots=True)
class TryAgain:
    """Immediately retry every conversation that waits for this service."""

    service: str


def anywhere(_: uuid.UUID) -> bool:
    """Accept any conversation id, because the instance has only one partition."""
    return True


def no_id() -> uuid.UUID:
    """Refuse to create an id; for an endpoint that does not request routes."""
    raise RuntimeError("an endpoint that requests routes needs a source of ids")


class Requests:
    """The requests of one database, by service and by open conversation.

    Applications choose the names of services, so there may be many requests, and no method searches
    all of them.
    """

    def __init__(self, requests: Iterable[Request] = ()) -> None:
        self._by_service: dict[str, Request] = {}
        self._open: dict[uuid.UUID, str] = {}
        self._ended: dict[str, None] = {}
        self.open_bytes = 0
        """The counted size of the open requests."""
        for request in requests:
            self.put(request)

    def __iter__(self) -> Iterator[Request]:
        return iter(self._by_service.values())

    def __len__(self) -> int:
        return len(self._by_service)

    def get(self, service: str) -> Request | None:
        """Return the request for a service, open or ended."""
        return self._by_service.get(service)

    def open(self, conversation: uuid.UUID) -> Request | None:
        """Return the open request with this conversation."""
        service = self._open.get(conversation)
        return None if service is None else self._by_service[service]

    def drop(self, service: str) -> None:
        """Remove the request for a service, if present."""
        before = self._by_service.pop(service, None)
        self._ended.pop(service, None)
        if before is not None and before.conversation is not None:
            del self._open[before.conversation]
            self.open_bytes -= _size(service)

    def put(self, request: Request) -> None:
        """Store a request in place of the previous one for its service."""
        self.drop(request.service)
        self._by_service[request.service] = request
        if request.conversation is not None:
            self._open[request.conversation] = request.service
            self.open_bytes += _size(request.service)
        else:
            self._ended[request.service] = None

    def excess(self, now: int) -> Iterator[str]:
        """Yield the services of ended requests to remove: those unchanged for the longest time.

        The back-off of these requests is over, so their removal does not affect when the next
        request for the same service is made.
        """
        count = min(len(self._ended) - MOST_ENDED, _FORGOTTEN_AT_ONCE)
        for service in islice(self._ended, max(0, count)):
            if self._by_service[service].again_at <= now:
                yield service


def _size(service: str) -> int:
    return REQUEST_BYTES + 4 * len(service)


@dataclass(slots=True)
class Configuration:
    """The requests of one database: committed requests, and those changed by the transaction.

    ``ids`` yields unpredictable ids: if another conversation at the configuration service already
    had the id of a request, the request would remain open without a reply. ``fits`` returns whether
    a conversation id belongs to the partition that stores these requests (see
    :func:`~streams.protocol.request_owner`).
    """

    ids: Iterator[uuid.UUID]
    limits: Limits = field(default_factory=Limits)
    fits: Callable[[uuid.UUID], bool] = anywhere
    committed: Requests = field(default_factory=Requests)
    changed: Requests = field(default_factory=Requests)

    def ask(self, service: str, broker: str | None, now: int) -> BeginNotice | None:
        """Request a route for a waiting conversation (9770), unless a request is open.

        Makes no request while the open requests take :data:`OPEN_BYTES`, or if none of the
        transaction's ids fits.
        """
        if self.committed.open_bytes + self.changed.open_bytes >= OPEN_BYTES:
            return None
        known = self._known(service) or Request(service)
        body = missing_route(service, broker)
        if known.conversation is not None or now < known.again_at or body is None:
            return None
        conversation = self._next_id()
        if conversation is None:
            return None
        rounds, total = known.rounds + 1, known.total + 1
        self.changed.put(replace(known, conversation=conversation, rounds=rounds, total=total))
        message_id = uuid.uuid5(conversation, "MissingRoute")
        return BeginNotice(conversation, message_id, self.limits.max_lifetime, body)

    def ended(self, conversation: uuid.UUID, now: int) -> TryAgain | None:
        """Record that a request has ended: by END, by an error, or at the end of its lifetime."""
        known = self.open(conversation)
        if known is None:
            return None
        again_at = now + self.limits.retry_after(known.rounds - 1)
        self.changed.put(replace(known, conversation=None, again_at=again_at))
        return TryAgain(known.service)

    def open(self, conversation: uuid.UUID) -> Request | None:
        """Return the open request with this conversation."""
        known = self.changed.open(conversation)
        if known is None:
            known = self.committed.open(conversation)
            if known is not None and self.changed.get(known.service) is not None:
                return None  # the request has ended since
        return known

    def found(self, service: str) -> None:
        """Record that a route exists; the next request is made as soon as it expires."""
        known = self._known(service)
        if known is not None and (known.rounds or known.again_at):
            self.changed.put(replace(known, rounds=0, again_at=0))

    def _known(self, service: str) -> Request | None:
        return self.changed.get(service) or self.committed.get(service)

    def forgotten(self, now: int) -> Iterator[str]:
        """Yield the services whose committed requests must be removed."""
        return (known for known in self.committed.excess(now) if self.changed.get(known) is None)

    def _next_id(self) -> uuid.UUID | None:
        return next(filter(self.fits, self.ids), None)


# --- the message ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MissingRoute:
    """The message to the application: the service without a route, and its broker id, if known."""

    service: str
    broker: str | None = None


def missing_route(service: str, broker: str | None) -> bytes | None:
    """Return the body of a MissingRoute; ``None`` for a name that XML cannot represent."""
    rows = [f"  <SERVICE_NAME>{_text(service)}</SERVICE_NAME>\n"]
    if broker is not None:
        rows.append(f"  <BROKER_INSTANCE>{_text(broker)}</BROKER_INSTANCE>\n")  # U-16
    body = f'<MissingRoute xmlns="{MISSING_ROUTE}">\n{"".join(rows)}</MissingRoute>'
    try:
        encoded = body.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return None
    return encoded if parse_missing_route(encoded) == MissingRoute(service, broker) else None


def parse_missing_route(body: bytes) -> MissingRoute | None:
    """Parse a received MissingRoute; return ``None`` for any other text."""
    root = parse_xml(body)
    if root is None or root.tag != f"{{{MISSING_ROUTE}}}MissingRoute":
        return None
    service = root.find(f"{{{MISSING_ROUTE}}}SERVICE_NAME")
    broker = root.find(f"{{{MISSING_ROUTE}}}BROKER_INSTANCE")
    if service is None or not service.text:
        return None
    return MissingRoute(service.text, None if broker is None else broker.text or "")


def _text(text: str) -> str:
    return escape(text, {"\r": "&#13;"})  # a parser replaces a carriage return with a line feed
