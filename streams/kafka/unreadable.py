"""Find the end of a batch that Kafka's client does not read correctly (decision 46).

A broker stores a batch that has the topic's codec unchanged, and checks less than the client that
reads the batch. If the client cannot decompress a batch, it reports an error with the batch's first
offset, and fetches the batch again and again. If a record contains an offset that is too high, the
client returns this record as the first record of every fetch from its batch.

So in both cases, a fetch from any offset up to the end of the batch gets the same response. Each
search has a time limit. When the time is up, or if Kafka no longer responds, the search returns the
first unchecked offset, where the next search continues. UnknownError is raised if there is no
progress because Kafka does not respond: then nothing may be skipped.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from streams.kafka.headers import headers_of
from streams.kafka.stalled_fetch import Place
from streams.wire import MalformedError

UNREADABLE = frozenset({KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION})
"""The client's errors for a batch that it cannot decompress."""
PROBE: dict[str, Any] = {
    "enable.partition.eof": True,
    "fetch.error.backoff.ms": 10,
    "fetch.wait.max.ms": 10,
    "fetch.message.max.bytes": 1,  # Kafka returns one batch
}
"""The configuration of a consumer that checks single offsets."""
_PASSED = 64 << 10
"""Bytes that a read_committed probe fetches at once, because it may have to skip many batches."""
_ENDS = frozenset({KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET})
_ANSWERS = UNREADABLE | _ENDS
"""Errors that are responses about an offset; other errors are about the connection or cluster."""
_ANSWER, _PATIENCE = 2.0, 10.0
"""Seconds to wait for a probe's response: normally, and if it may have to skip many aborted
records."""
_POLL = 0.1
"""Seconds after which a probe without a response calls the client again."""


class UnknownError(Exception):
    """Kafka has not responded, so the record ``at`` an offset is unknown."""

    def __init__(self, at: int) -> None:
        super().__init__(f"no response about offset {at}")
        self.at = at


class Probe:
    """A consumer that checks single offsets; it is created when it is first needed.

    If there is no response for an offset, the client doubles the size of its fetches, up to 50 MB.
    So a consumer that no longer receives responses is replaced.
    """

    def __init__(self, create: Callable[[str], Consumer], isolation: str) -> None:
        self._create, self._isolation = create, isolation
        self._consumer: Consumer | None = None
        self._has_responded = False

    def first_at(self, place: Place, offset: int, patience: float) -> Message:
        """Return the first response at an offset, a record or an error."""
        if self._consumer is None:
            self._consumer = self._create(self._isolation)
        self._consumer.assign([TopicPartition(*place, offset)])
        until = time.monotonic() + patience
        while (left := until - time.monotonic()) > 0:
            message = self._consumer.poll(min(left, _POLL))
            if message is not None and is_response(message):
                self._consumer.unassign()
                self._has_responded = True
                return message
        self._consumer.unassign()
        if self._has_responded:
            self.close()
        raise UnknownError(offset)

    def close(self) -> None:
        """Close the consumer."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer, self._has_responded = None, False


class Probes:
    """A probe for committed records, and one that also gets aborted records."""

    def __init__(self, create: Callable[[str], Consumer]) -> None:
        self.committed = Probe(create, "read_committed")
        self.uncommitted = Probe(create, "read_uncommitted")

    def close(self) -> None:
        """Close the consumers."""
        self.committed.close()
        self.uncommitted.close()


def probing(isolation: str) -> dict[str, Any]:
    """Return the configuration of a probe's consumer with an isolation level."""
    fetched = {} if isolation == "read_uncommitted" else {"fetch.message.max.bytes": _PASSED}
    return {**PROBE, **fetched, "isolation.level": isolation}


def end_of_batch(probe: Probe, place: Place, start: int, message: Message, budget: float) -> int:
    """Return the offset after a message's batch; the message is the first response at ``start``.

    The message is a record or an error. If the first response at ``start`` is a different one, the
    result is ``start``. About ``2 log2(n)`` fetches find the end of a batch of n records. Different
    batches cause different errors. But records of different batches may be equal, and then the
    records between them are skipped. Where this must not happen, use :func:`end_of_gap`.
    """
    until = time.monotonic() + budget
    if not _same(probe.first_at(place, start, _PATIENCE), message):
        return start
    return end_of_run(
        start, lambda at: _same(probe.first_at(place, at, _ANSWER), message), until=until
    )


def end_of_run(
    start: int,
    is_bad: Callable[[int], bool],
    *,
    until: float,
    end: int = sys.maxsize,
    exact: bool = False,
) -> int:
    """Return the end of the run of bad offsets that begins at ``start``, or one not after it.

    ``end`` is not in the run. The search takes larger and larger steps, or, if ``exact``, tries
    each offset. It ends at ``until`` (monotonic seconds), and when ``is_bad`` raises UnknownError.
    """
    bad, step = start, 1
    with suppress(UnknownError):
        while bad + 1 < end and time.monotonic() < until:
            middle = min(bad + step, (bad + end) // 2)
            if is_bad(middle):
                bad, step = middle, step if exact else 2 * step
            else:
                end = middle
    return bad + 1


def end_of_gap(
    probes: Probes, place: Place, expected: int, message: Message, budget: float
) -> tuple[int, bool]:
    """Return where to continue at a record after a gap, and whether the check has ended.

    If the record's offset is correct, the result is the offset after the record, otherwise the
    offset after the record's batch. If the check has not ended, it must continue at the returned
    offset.

    A consumer has read the record from ``expected`` on, so only transaction markers and aborted
    records precede the record's batch. If the record contains a wrong offset, its batch may be
    followed by records of other writers, and also by copies of the record. So once a fetch has
    returned the record, the check ends at the first later offset from which a fetch does not return
    it.

    The probe that also gets aborted records finds each of them at its offset without reading the
    others. But it gets no response about an aborted batch that it cannot parse. The other probe
    does not parse aborted batches.
    """
    start = expected + 1 if message.offset() == expected + 1 else expected  # usually, a marker
    for probe in (probes.uncommitted, probes.committed):
        try:
            return _check(probe, place, start, message, budget, must=probe is probes.committed)
        except UnknownError as error:
            if error.at > start:
                return error.at, False
    raise UnknownError(expected)


def _check(
    probe: Probe, place: Place, at: int, message: Message, budget: float, *, must: bool
) -> tuple[int, bool]:
    """Check offsets up to that of a record; ``must``: the first fetch must return the record."""
    last, until = message.offset() or 0, time.monotonic() + budget
    patience = _PATIENCE if must else _ANSWER
    while at <= last:
        found = probe.first_at(place, at, patience)
        if _error(found) in _ENDS:  # a new leader may not know the end of the log yet
            raise UnknownError(at)
        is_same = _same(found, message)
        if not is_same and (must or at == last):
            return at, True
        at, must = at + 1, must or is_same
        if time.monotonic() >= until:
            break
    return at, at > last


def _same(one: Message, other: Message) -> bool:
    return one.offset() == other.offset() and _content(one) == _content(other)


def _content(message: Message) -> object:
    if message.error() is not None:
        return _error(message)
    try:
        headers = headers_of(message)
    except MalformedError:
        headers = None
    return message.key(), message.value(), message.timestamp(), headers


def _error(message: Message) -> int | None:
    error = message.error()
    return None if error is None else error.code()


def is_response(message: Message) -> bool:
    """Return whether a message is the response to a fetch, rather than an error of the cluster."""
    error = _error(message)
    return error is None or error in _ANSWERS
