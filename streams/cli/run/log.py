"""The workers' log on stderr, and its formats.

Log records contain text from input: messages, and the texts of exceptions in tracebacks. Both
formats limit the size of this text, and prevent it from starting a new log entry and from
controlling a terminal.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from streams.cli.text.values import shorten
from streams.prose import clipped, counted, lines
from streams.settings import LogFormat
from streams.workers import WORKING

_LONGEST_LINE = 500
"""Maximum length in characters of a line of a traceback."""
_LONGEST_MESSAGE = 16_384
"""Maximum length in characters of a message, which can list names on one line."""
_FIRST, _LAST = 40, 60
"""How many first and last lines of a traceback are kept; the last lines contain the error."""


class TextFormatter(logging.Formatter):
    """Write human-readable lines; control characters from records are escaped."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines; all lines after the first are indented.

        A traceback that another handler has formatted is not used, because it is not escaped.
        """
        record.message = record.getMessage()
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        found = [self.formatMessage(record)]
        if traceback := _traceback(self, record):
            found.append(_indented(traceback))
        if record.stack_info:
            found.append(_indented(record.stack_info))
        return "\n".join(found)

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the text before a traceback; further lines of a message are indented."""
        first, *more = lines(clipped(record.message, _LONGEST_MESSAGE)).split("\n")
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
            "message": clipped(record.getMessage(), _LONGEST_MESSAGE),
            "worker": worker,
            "instance": instance,
        }
        if traceback := _traceback(self, record):
            line["traceback"] = "\n".join(clipped(one, _LONGEST_LINE) for one in _kept(traceback))
        return _printable(json.dumps(line, ensure_ascii=False))


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    if record.exc_info:
        return formatter.formatException(record.exc_info)
    return record.exc_text or ""


def _indented(text: str) -> str:
    return "\n".join(f"  {shorten(line, _LONGEST_LINE)}" for line in _kept(text))


def _kept(text: str) -> list[str]:
    """Return the first and the last lines of a string, with the number of lines in between."""
    found = text.split("\n")
    left = len(found) - _FIRST - _LAST
    if left <= 1:
        return found
    return [*found[:_FIRST], f"... {counted(left, 'line')} left out", *found[-_LAST:]]


def _printable(text: str) -> str:
    """Return JSON whose characters are all printable; readers might split lines at U+2028."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def log_to_stderr(form: LogFormat = LogFormat.TEXT, *, verbose: bool = False) -> None:
    """Log to stderr, like progress; stdout is for results."""
    handler = logging.StreamHandler(sys.stderr)
    text = TextFormatter("%(asctime)s %(levelname)s %(message)s")
    handler.setFormatter(JsonFormatter() if form is LogFormat.JSON else text)
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(handlers=[handler], level=level)
    logging.getLogger("hopline.librdkafka").setLevel(logging.ERROR)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # its callers report what fails
