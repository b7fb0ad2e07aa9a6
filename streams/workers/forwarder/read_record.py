"""Convert a Kafka message into a forwarder's input record, whose headers are not decoded."""

from __future__ import annotations

from streams.errors import Number
from streams.kafka import Headers, Message
from streams.node import Record
from streams.routing import Origin
from streams.wire import MalformedError
from streams.wire.records import HOP, MESSAGE, ROUTE, header_of


def read_record(
    message: Message, headers: Headers, origin: Origin, writer: str | None = None
) -> Record:
    """Return a record of ``out``, ``txq`` or ``ingress``; ``writer``: the cluster that wrote it.

    Raises MalformedError if the key or one of the two mandatory headers is missing.
    """
    key = message.key()
    if (
        len(headers) == 3
        and headers[0][0] == ROUTE
        and headers[1][0] == MESSAGE
        and headers[2][0] == HOP
    ):
        route, body, hop = headers[0][1], headers[1][1], headers[2][1]
    else:
        route, body, hop = (header_of(headers, n) for n in (ROUTE, MESSAGE, HOP))
    if not isinstance(key, bytes):
        text = "a frame without a conversation id (11271)"
        raise MalformedError(text, Number.CONVERSATION_ID_NULL)
    if route is None or hop is None:
        raise MalformedError("a frame without sb-route or sb-hop")
    return Record(origin, key, route, hop, len(message), body is None, body, writer)
