"""The workers' log on stderr, and its formats."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from streams.cli.text.values import lines
from streams.settings import LogFormat
from streams.workers import WORKING


class TextFormatter(logging.Formatter):
    """Write human-readable lines; control characters from records are escaped."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the text before a traceback; further lines of a message are indented."""
        first, *more = lines(record.message).split("\n")
        record.message = "\n".join([first, *(f"  {line.strip()}" for line in more)])
        return super().formatMessage(record)


class JsonFormatter(logging.Formatter):
    """Write a line as one JSON object, with a traceback as a field."""

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
    """Log to stderr, like progress; stdout is for results."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO if verbose else logging.WARNING)
    text = TextFormatter("%(asctime)s %(levelname)s %(message)s")
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else text)
    logging.getLogger("hopline.librdkafka").setLevel(logging.ERROR)
