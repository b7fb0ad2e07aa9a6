"""Log an outage of Kafka: one line when it starts, one every ten seconds, and one when it ends.

librdkafka logs every failed connection attempt of every client, but no successful one. So the first
line about a failed attempt starts a check of the cluster itself, whose result is logged instead of
the other lines.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable

from confluent_kafka import KafkaException

EVERY = 10.0
"""Seconds between log lines about a cluster that is still unavailable."""
_LOOK = 2.0
_FORGET = 60.0
"""Seconds without a line about connections after which the clients are assumed to be closed."""
_LOGIN = re.compile("SASL|SSL|security\\.protocol")
_AROUND = re.compile(r"^\S+/\w+: | \(after \d+ms in state .*\)$")
_CONNECTION = ("FAIL ", "ERROR ")
"""The prefix of librdkafka's lines about connections; other lines are passed on."""

log = logging.getLogger("hopline.kafka")
_lines = logging.getLogger("hopline.librdkafka")
_lines.addHandler(logging.NullHandler())
_lines.setLevel(logging.ERROR)
_told = logging.getLogger("hopline.librdkafka.outage")
_told.setLevel(logging.WARNING)


class Outage:
    """The logger of one cluster's clients.

    ``look`` sends a request to the cluster with a time limit in seconds, and raises KafkaException
    if the request fails.
    """

    def __init__(self, bootstrap: str, look: Callable[[float], object]) -> None:
        self._bootstrap = bootstrap
        self._look = look
        self._lock = threading.Lock()
        self._watched = False
        self._heard_at = 0.0
        self.refused = ""
        """The last reason why a broker rejected a login, if any, which is reported nowhere else."""
        self.reason = ""
        """The reason for the last failed connection, if any."""

    def log(self, level: int, message: str, *args: object) -> None:
        """Process a line of librdkafka's log."""
        text = message % args if args else message
        if not _lines.isEnabledFor(level):
            return
        if not text.startswith(_CONNECTION):
            _lines.log(level, text)
            return
        self.reason = _reason(text)
        if _LOGIN.search(text):
            self.refused = self.reason
        with self._lock:
            self._heard_at = time.monotonic()
            if self._watched:
                return
            self._watched = True
        threading.Thread(target=self._watch, args=(text,), name="outage", daemon=True).start()

    def _watch(self, text: str) -> None:
        began, pause = time.monotonic(), threading.Event()
        try:
            if self._answers(_LOOK):
                self.refused = self.reason = ""
                # The line is about one of several brokers, or is late because its client is seldom
                # polled.
                log.info("Kafka at %s: %s", self._bootstrap, text)
                pause.wait(EVERY)
                return
            _told.error("Kafka at %s is unavailable: %s", self._bootstrap, _reason(text))
            while not self._answers(EVERY):
                now = time.monotonic()
                if now - self._heard_at > _FORGET:
                    return  # the cluster's clients are closed
                _told.error("Kafka at %s unavailable for %.0f s", self._bootstrap, now - began)
            away = time.monotonic() - began
            _told.warning("Kafka at %s is available again after %.0f s", self._bootstrap, away)
        finally:
            self._watched = False

    def _answers(self, timeout: float) -> bool:
        until, pause = time.monotonic() + timeout, threading.Event()
        while True:
            left = until - time.monotonic()
            if left <= 0:
                return False
            try:
                self._look(left)
                return True
            except KafkaException:
                pause.wait(min(0.5, left))


def _reason(text: str) -> str:
    """Return a log line of librdkafka without client, thread and number of attempts."""
    return _AROUND.sub("", text.rpartition("]: ")[2])
