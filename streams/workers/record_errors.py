"""Decide which errors a record causes; such a record is reported, and the worker continues.

Any other error ends the worker. A worker that ended because of a record would read the record again
after every restart, and block all other records. A worker that blamed a record for an error of its
environment would reject or drop records that can be processed later.
"""

from __future__ import annotations

from streams.errors import HoplineError, Number
from streams.kafka import GoneError, KafkaError, KafkaException

REJECTED = {
    KafkaError.MSG_SIZE_TOO_LARGE: Number.MESSAGE_TOO_LARGE,
    KafkaError.INVALID_MSG_SIZE: Number.MESSAGE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE: Number.MESSAGE_TOO_LARGE,
    KafkaError.INVALID_RECORD: Number.CORRUPTED_HEADER,
    KafkaError.INVALID_TIMESTAMP: Number.CORRUPTED_HEADER,
}
"""Kafka's errors for records that it will never accept, with the numbers that are reported.

Any other error that aborts a transaction is not caused by its records, which are read again.
"""


def is_caused_by_record(error: Exception) -> bool:
    """Return whether a record caused an error, rather than misuse, Kafka or the environment.

    A record is also the cause if it needs another record that was deleted (GoneError).
    """
    if isinstance(error, KafkaException):
        cause = _cause(error)
        return cause is not None and not cause.fatal() and cause.code() in REJECTED
    return isinstance(error, GoneError) or not isinstance(error, HoplineError)


def number_of(error: Exception) -> Number:
    """Return the error number for a rejected record."""
    cause = _cause(error) if isinstance(error, KafkaException) else None
    return (
        Number.CORRUPTED_HEADER
        if cause is None
        else REJECTED.get(cause.code(), Number.CORRUPTED_HEADER)
    )


def _cause(error: KafkaException) -> KafkaError | None:
    cause = error.args[0] if error.args else None
    return cause if isinstance(cause, KafkaError) else None
