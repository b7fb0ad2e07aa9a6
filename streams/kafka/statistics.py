"""Read the statistics that Kafka's client reports about itself, as in librdkafka's STATISTICS.md.

The client does not escape the names that brokers advertise, including brokers of other companies,
so a report may be invalid JSON. The client calls the callback during a poll, so the poll would
raise any exception of the callback, and the worker would exit.
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
