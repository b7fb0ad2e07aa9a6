"""The log of workers, whatever is in it: as JSON one object a line, as text nothing that moves."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import copy_context

from streams.cli.run.log import JsonFormatter, TextFormatter
from streams.workers import WORKING


def line(message: str, *args: object, failing: bool = False) -> dict[str, object]:
    failure = None
    if failing:
        try:
            raise ValueError("two\nlines")
        except ValueError:
            failure = sys.exc_info()
    record = logging.LogRecord("hopline.x", logging.ERROR, "", 1, message, args, failure)
    record.created = 1_700_000_000.25
    text = JsonFormatter().format(record)
    assert "\n" not in text
    found: dict[str, object] = json.loads(text)
    return found


def test_a_line_has_time_level_and_text() -> None:
    assert line('"%s" %d', "ü\n", 2) == {
        "time": "2023-11-14T22:13:20.250+00:00",
        "level": "error",
        "logger": "hopline.x",
        "message": '"ü\n" 2',
        "worker": None,
        "instance": None,
    }


def test_a_line_of_a_workers_thread_names_its_instance() -> None:
    def working() -> dict[str, object]:
        WORKING.set(("forwarder", "ServerA"))
        return line("x")

    found = copy_context().run(working)
    assert (found["worker"], found["instance"]) == ("forwarder", "ServerA")


def test_a_traceback_is_a_text_in_its_line() -> None:
    assert str(line("x", failing=True)["traceback"]).endswith("ValueError: two\nlines")


def test_as_text_nothing_that_a_record_holds_begins_a_line_or_moves_a_cursor() -> None:
    message = "the key \x1b[2J\x9b1m\u202e\nERROR forged\r cannot be read"
    record = logging.LogRecord("hopline.x", logging.ERROR, "", 1, message, (), None)
    assert TextFormatter("%(levelname)s %(message)s").format(record) == (
        "ERROR the key \\x1b[2J\\x9b1m\\u202e\n  ERROR forged\\r cannot be read"
    )
