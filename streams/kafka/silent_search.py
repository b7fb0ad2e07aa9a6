"""Find the next readable offset after records for which the client returns nothing.

If a record contains a wrong length, Kafka's client (librdkafka) assumes that the record's batch is
cut off at the end of the response. It fetches the batch again and again without reporting an error
(decision 46).
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from streams.kafka.checked_consumer import UNREADABLE
from streams.kafka.cluster import Cluster
from streams.kafka.stalled_fetch import Place
from streams.kafka.statistics import Statistics
from streams.kafka.stored_batches import UnknownError

log = logging.getLogger("hopline.kafka")

_PROBE: dict[str, Any] = {
    "enable.partition.eof": True,
    "fetch.error.backoff.ms": 10,
    "fetch.wait.max.ms": 10,
    "fetch.message.max.bytes": 1,  # Kafka returns one batch
}
"""The configuration of a consumer that checks single offsets."""
_RESPONSES = UNREADABLE | {None, KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET}
"""Results that are responses about an offset; other errors are about the connection or cluster."""
_TRIES = 2
"""Number of responses without a record after which an offset counts as unreadable."""
_REPORT_EVERY_MS = 10
_SEARCH, _SILENT = 60.0, 10.0
"""Maximum duration in seconds of a search, and of the check whether one offset is unreadable."""


class SilentSearch:
    """Search in a thread, for at most a minute, for an offset that a new client can read.

    An offset counts as unreadable if the client's statistics show at least two responses for it
    that the client could not parse. Then the search continues after the batch that contains the
    offset. After the search has ``ended``, ``found`` is the offset after the last unreadable batch.
    If ``found`` is ``start``, the log is readable there. With ``once``, the search ends with the
    first batch. ``can_be_read``: whether the first batch can be read as stored.
    """

    def __init__(self, cluster: Cluster, place: Place, start: int, *, once: bool = False) -> None:
        self.place, self.start, self.found = place, start, start
        self.ended, self.can_be_read = False, False
        self._cluster, self._once = cluster, once
        self._reported: tuple[int, int] | None = None
        self._thread = threading.Thread(target=self._run, name="unreadable", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the search has ended, for at most the time that it may take."""
        self._thread.join(_SEARCH + _SILENT)

    def _run(self) -> None:
        probe = stored = None
        until = time.monotonic() + _SEARCH
        try:
            stored = self._cluster.stored_batches()
            probe = self._cluster.consumer(
                f"{self._cluster.topics.prefix}reader",
                stats=self._report,
                statistics_interval_ms=_REPORT_EVERY_MS,
                **_PROBE,
            )
            while time.monotonic() < until and self._is_unreadable(probe, self.found):
                at, self.found = self.found, self.found + 1  # it is unreadable, whatever follows
                if stored is not None:
                    left = until - time.monotonic()
                    batch = stored.first_with_records(self.place, at, left)
                    self.found = batch.offsets.stop
                    if at == self.start:
                        self.can_be_read = batch.can_be_read
                if self._once:
                    break
        except Exception as error:
            log.warning("%s/%d@%d: %s", *self.place, self.found, error)
        finally:
            for one in (probe, stored):
                if one is not None:
                    one.close()
            self.ended = True

    def _is_unreadable(self, probe: Consumer, offset: int) -> bool:
        before: int | None = None
        self._reported = None
        probe.assign([TopicPartition(*self.place, offset)])
        until = time.monotonic() + _SILENT
        while time.monotonic() < until:
            message = probe.poll(_REPORT_EVERY_MS / 1000)
            if message is not None and _code(message) in _RESPONSES:
                return False
            reported, self._reported = self._reported, None
            if reported is None or reported[0] != offset:
                continue
            before = reported[1] if before is None else before
            if reported[1] - before >= _TRIES:
                return True
        raise UnknownError(offset)

    def _report(self, report: Statistics) -> None:
        """Note the offset that the client fetches, and the number of its incomplete responses."""
        topic, partition = self.place
        about = report["topics"].get(topic, {"partitions": {}})["partitions"].get(str(partition))
        if about is not None:
            incomplete = sum(broker["rxpartial"] for broker in report["brokers"].values())
            self._reported = int(about["next_offset"]), int(incomplete)


def _code(message: Message) -> int | None:
    error = message.error()
    return None if error is None else error.code()
