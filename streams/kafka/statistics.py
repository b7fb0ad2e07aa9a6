"""Read the statistics that Kafka's client reports about itself, as in librdkafka's STATISTICS.md.

The client writes the names that brokers advertise, including those of other companies, without
escaping them, so a report may not be valid JSON. The client calls back within a poll, so an
exception in the callback would be raised by the poll and end a worker.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

log = logging.getLogger("hopline.kafka")

Statistics = dict[str, Any]
ReadStatistics = Callable[[Statistics], None]


class StatisticsReader:
    """Pass the reports of one client to ``read``; ignore reports that it cannot read.

    Only the first such report is logged.
    """

    def __init__(self, read: ReadStatistics) -> None:
        self._read = read
        self._ignores = False

    def __call__(self, report: str) -> None:
        """Process a report; never raises."""
        try:
            self._read(json.loads(report))
        except Exception as error:
            if not self._ignores:
                log.warning("statistics of Kafka's client cannot be read: %r", error)
            self._ignores = True
