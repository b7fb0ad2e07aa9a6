"""Limit the hops and the time to live of frames that other clusters write."""

from __future__ import annotations

from collections.abc import Callable

from streams.kafka import Headers, Message, headers_of
from streams.protocol import Limits
from streams.wire.hop import limited
from streams.wire.records import HOP

_LIMITS = Limits()


def admission(now: Callable[[], int]) -> Callable[[Message], Headers]:
    """Return a function that reads the headers of a frame that another cluster wrote.

    The function limits hops and time to live to the values of a frame from this cluster; otherwise
    the other cluster could determine how long its copies are buffered. It also changes the headers
    of the Kafka message, because buffered messages are read again. ``now`` returns epoch
    milliseconds. The function raises MalformedError for an invalid ``sb-hop``.
    """

    def admitted(message: Message) -> Headers:
        found, until = headers_of(message), now() + _LIMITS.time_to_live
        headers: Headers = [
            (name, limited(raw, _LIMITS.hops, until) if name == HOP and raw is not None else raw)
            for name, raw in found
        ]
        if headers != found:
            message.set_headers([*headers])
        return headers

    return admitted
