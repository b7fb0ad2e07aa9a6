"""Find the next readable offset after records for which the client returns nothing.

If a record contains a wrong length, Kafka's client (librdkafka) assumes that the record's batch is
cut off at the end of the response. It fetches the batch again and again without reporting an error
(decision 46).
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from functools import partial

from confluent_kafka import Consumer, TopicPartition

from streams.kafka.cluster import Cluster
from streams.kafka.stalled_fetch import Place
from streams.kafka.statistics import Statistics
from streams.kafka.unreadable import PROBE, UnknownError, end_of_run, is_response

log = logging.getLogger("hopline.kafka")

_TRIES = 2
"""Number of responses without a record after which an offset counts as unreadable."""
_REPORT_EVERY_MS = 10
_SEARCH, _SILENT = 60.0, 10.0
"""Maximum duration in seconds of a search, and of the check whether one offset is unreadable."""


class SilentSearch:
    """Search in a thread, for at most a minute, for an offset that a new client can read.

    An offset counts as unreadable if the client's statistics show at least two responses for it
    that the client could not parse. After the search has ``ended``, ``found`` is the offset after
    an unreadable one. If ``found`` is ``start``, the log is readable there.

    A fetch in a gap returns the batch after the gap, and compaction leaves gaps of millions of
    offsets. So the search takes larger and larger steps, and may pass readable records between
    unreadable ones. With ``exact``, it tries each offset, but at most ``most``.
    """

    def __init__(
        self,
        cluster: Cluster,
        place: Place,
        start: int,
        *,
        exact: bool = False,
        most: int = sys.maxsize,
    ) -> None:
        self.place, self.start, self.found = place, start, start
        self.ended = False
        self._cluster, self._exact, self._end = cluster, exact, start + most
        self._reported: tuple[int, int] | None = None
        self._thread = threading.Thread(target=self._run, name="unreadable", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the search has ended, for at most the time that it may take."""
        self._thread.join(_SEARCH + _SILENT)

    def _run(self) -> None:
        try:
            probe = self._cluster.consumer(
                f"{self._cluster.topics.prefix}reader",
                stats=self._report,
                statistics_interval_ms=_REPORT_EVERY_MS,
                **PROBE,
            )
            until = time.monotonic() + _SEARCH
            if self._is_unreadable(probe, self.start):
                self.found = end_of_run(
                    self.start,
                    partial(self._is_unreadable, probe),
                    until=until, end=self._end, exact=self._exact,
                )  # fmt: skip
            probe.close()
        except Exception as error:
            log.warning("%s/%d@%d: %s", *self.place, self.start, error)
        finally:
            self.ended = True

    def _is_unreadable(self, probe: Consumer, offset: int) -> bool:
        before: int | None = None
        self._reported = None
        probe.assign([TopicPartition(*self.place, offset)])
        until = time.monotonic() + _SILENT
        while time.monotonic() < until:
            message = probe.poll(_REPORT_EVERY_MS / 1000)
            if message is not None and is_response(message):
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
