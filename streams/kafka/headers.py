"""Read the headers of a record, and reject headers whose names are not UTF-8."""

from __future__ import annotations

import operator

from confluent_kafka import Message

from streams.wire import MalformedError

Headers = list[tuple[str, bytes | None]]

HEADER_BYTES = 128
"""Bytes of memory that a header takes in addition to its name and value."""
_HEADERS = 16
"""Maximum number of headers of our own records."""
_headers = operator.methodcaller("headers")


_UNREADABLE = "the name of a header is not UTF-8"


def headers_of(message: Message) -> Headers:
    """Return a record's headers; raise MalformedError if the name of a header is not UTF-8.

    Read headers only through this function: if a name is not UTF-8, the client library leaves an
    exception pending and returns a list that may crash the interpreter. Specialized bytecode would
    not notice the exception, but a call through ``methodcaller`` is always checked and raises
    SystemError.
    """
    try:
        headers: Headers | None = _headers(message)
    except SystemError:
        message.set_headers([(_UNREADABLE, None)])  # so that the next call also raises the error
        raise MalformedError(_UNREADABLE) from None
    if headers and headers[0][0] == _UNREADABLE:
        raise MalformedError(_UNREADABLE)
    return headers or []


def size_of(message: Message) -> int:
    """Return the size in bytes of a record with its headers, which ``len`` leaves out.

    Each header above the maximum number of our own records adds :data:`HEADER_BYTES`.
    """
    try:
        headers = headers_of(message)
    except MalformedError:
        headers = []
    size = len(message) + sum(len(name) + len(value or b"") for name, value in headers)
    return size + HEADER_BYTES * max(0, len(headers) - _HEADERS)
