"""Decide whether a record has caused an error; if so, the worker reports it and continues.

Any other error stops the worker. If a worker stopped because of a record, it would read the record
again after every restart, and all other records would be blocked. If a worker attributed an error
of its environment to a record, it would reject or drop records that can be processed later.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from types import CodeType

from streams.causes import Causes, more
from streams.errors import HoplineError, Number
from streams.kafka import KafkaError, KafkaException
from streams.wire import MalformedError

REJECTED = {
    KafkaError.MSG_SIZE_TOO_LARGE: Number.MESSAGE_TOO_LARGE,
    KafkaError.INVALID_MSG_SIZE: Number.MESSAGE_TOO_LARGE,
    KafkaError.RECORD_LIST_TOO_LARGE: Number.MESSAGE_TOO_LARGE,
    KafkaError.INVALID_RECORD: Number.CORRUPTED_HEADER,
    KafkaError.INVALID_TIMESTAMP: Number.CORRUPTED_HEADER,
}
"""Kafka's errors for records that it will never accept, with the error numbers to report.

Any other error that aborts a transaction is not caused by its records, which are read again.
"""

_Cause = tuple[type[Exception], CodeType | None, int]
"""An error's class and the innermost line of its traceback; the number of both is limited."""


class Tracebacks:
    """Log failures with their tracebacks, at most once a minute for each cause.

    Any record may cause a failure, and each such record is reported by an event anyway. ``clock``
    is monotonic, in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._causes = Causes(clock)

    def log(self, logger: logging.Logger, what: str, error: Exception) -> None:
        """Log a failure (``what``) if it is due, with the number of omitted failures."""
        omitted = self.due(error)
        if omitted is not None:
            logger.error("%s%s", what, more(omitted), exc_info=error)

    def due(self, error: Exception) -> int | None:
        """Return how often the cause was not logged; ``None`` if it must not be logged now."""
        return self._causes.due(_cause_of(error))


class Skips:
    """Log skipped records of one topic, at most once a minute for each cause."""

    def __init__(self, topic: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._topic, self._causes = topic, Causes(clock)

    def log(self, logger: logging.Logger, offset: int | None, error: Exception) -> None:
        """Log the position of a record that could not be processed, without its content."""
        omitted = self._causes.due(_cause_of(error))
        if omitted is not None:
            reason = error if isinstance(error, MalformedError) else type(error).__name__
            logger.warning(
                "%s: the record at offset %s is skipped: %s%s",
                self._topic, offset, reason, more(omitted),
            )  # fmt: skip


def _cause_of(error: Exception) -> _Cause:
    last = error.__traceback__
    if last is None:
        return type(error), None, 0
    while last.tb_next is not None:
        last = last.tb_next
    return type(error), last.tb_frame.f_code, last.tb_lineno


def is_caused_by_record(error: Exception) -> bool:
    """Return whether an error was caused by a record, not by misuse, Kafka or the environment."""
    if isinstance(error, KafkaException):
        cause = _cause(error)
        return cause is not None and not cause.fatal() and cause.code() in REJECTED
    return not isinstance(error, HoplineError)


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
