"""Where the log of workers goes, and how its lines look."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from streams.cli.text.values import lines
from streams.settings import LogFormat
from streams.workers import WORKING


class TextFormatter(logging.Formatter):
    """Write lines for people: nothing that a record holds moves a cursor, or begins a line."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return what stands before a traceback; further lines of a message are set in."""
        first, *more = lines(record.message).split("\n")
        record.message = "\n".join([first, *(f"  {line.strip()}" for line in more)])
        return super().formatMessage(record)


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
    logging.basicConfig(stream=sys.stderr, level=logging.INFO if verbose else logging.WARNING)
    text = TextFormatter("%(asctime)s %(levelname)s %(message)s")
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else text)
    logging.getLogger("hopline.librdkafka").setLevel(logging.ERROR)
