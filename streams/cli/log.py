"""Where the log of workers goes, and how its lines look."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from streams.settings import LogFormat
from streams.workers import WORKING


class JsonFormatter(logging.Formatter):
    """Write a line as one JSON object; a traceback is a text in it, so a line is a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        worker, instance = WORKING.get((None, None))
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "worker": worker,
            "instance": instance,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log_to_stderr(form: LogFormat = LogFormat.TEXT, *, verbose: bool = False) -> None:
    """Send the log to stderr, where progress belongs; stdout is for results."""
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(message)s",
    )
    if form is LogFormat.JSON:
        for handler in logging.getLogger().handlers:
            handler.setFormatter(JsonFormatter())
    logging.getLogger("hopline.librdkafka").setLevel(logging.ERROR)
