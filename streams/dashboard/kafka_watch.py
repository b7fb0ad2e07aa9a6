"""Whether Kafka answers, apart from reads of the catalog and of dialogs, which may take long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from streams.dashboard.figures import Trouble
from streams.kafka import Cluster, KafkaException
from streams.kafka.listing import names_known

EVERY = 1.0
"""Seconds between checks."""
ANSWERS_WITHIN = 2.0
"""Seconds within which Kafka must answer; with EVERY, an outage is reported within five seconds."""


class KafkaWatch:
    """The outage of a cluster, if there is one, since the first check that failed.

    ``now`` returns epoch milliseconds. Without a cluster there is no outage.
    """

    def __init__(
        self, cluster: Cluster | None, now: Callable[[], int], within: float = ANSWERS_WITHIN
    ) -> None:
        self.cluster = cluster
        self.trouble: Trouble | None = None
        self._now, self._within = now, within
        self._client: Any = None

    def look(self) -> None:
        """Check once. A client that failed is replaced, because it may have lost all brokers."""
        if self.cluster is None:
            return
        began = self.trouble.since if self.trouble else self._now()
        try:
            self._client = self._client or self.cluster.admin()
            names_known(self._client, self._within)
        except Exception as error:  # whatever it is, the thread must go on
            self._client = None
            known = isinstance(error, KafkaException)
            why = error.args[0].str() if known else f"{type(error).__name__}: {error}"
            said = f"Kafka at {self.cluster.bootstrap} does not answer: {why}."
            self.trouble = Trouble(began, said)
        else:
            self.trouble = None

    def follow(self, stop: threading.Event, every: float = EVERY) -> None:
        """Check periodically until ``stop`` is set."""
        while self.cluster is not None:
            self.look()
            if stop.wait(every):
                return
