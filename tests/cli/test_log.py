"""The log of workers, whatever is in it: as JSON one object a line, as text nothing that moves."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import copy_context
from types import TracebackType
from typing import cast

import pytest

from streams.cli.run.log import JsonFormatter, TextFormatter
from streams.workers import WORKING

ExcInfo = tuple[type[BaseException], BaseException, TracebackType]


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


def failure(text: str) -> ExcInfo:
    """Return an exception as it is logged; its text quotes a body."""
    try:
        raise ValueError(text)
    except ValueError:
        return cast(ExcInfo, sys.exc_info())


def formatted(formatter: logging.Formatter, text: str, **odd: object) -> str:
    record = logging.LogRecord("hopline.x", logging.ERROR, "", 1, "failed", (), failure(text))
    for name, value in odd.items():
        setattr(record, name, value)
    return formatter.format(record)


FORGED = "no \x1b[2J\x9b1m\u202e\ud800\nERROR forged\r\x85\u2028ERROR forged"
TEXT = TextFormatter("%(levelname)s %(message)s")


@pytest.mark.parametrize("odd", [{}, {"stack_info": FORGED}, {"exc_text": FORGED}])
def test_as_text_nothing_in_a_traceback_begins_a_line_or_moves_a_cursor(
    odd: dict[str, object],
) -> None:
    """Another handler may already have formatted the traceback (``exc_text``)."""
    first, *more = formatted(TEXT, FORGED, **odd).split("\n")
    assert first == "ERROR failed"
    assert "  Traceback (most recent call last):" in more
    assert "  ValueError: no \\x1b[2J\\x9b1m\\u202e\\ud800" in more
    assert "  ERROR forged\\r\\x85\\u2028ERROR forged" in more
    assert all(line.startswith("  ") and line.isprintable() for line in more)


@pytest.mark.parametrize("text", ["x" * 900_000, "\x1b" * 900_000, "\n" * 900_000, "x\n" * 90_000])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_is_limited_and_keeps_both_ends(text: str, form: str) -> None:
    formatter = TEXT if form == "text" else JsonFormatter()
    found = formatted(formatter, f"begin {text}\nend", stack_info=text)
    assert len(found) < 130_000
    assert "ValueError: begin" in found and "Traceback (most" in found
    traceback = found if form == "text" else str(json.loads(found)["traceback"])
    assert "end" in traceback.replace(" ", "").split("\n")
    if "\n" in text:
        assert " lines left out" in traceback


@pytest.mark.parametrize("formatter", [TEXT, JsonFormatter()])
def test_a_message_is_limited(formatter: logging.Formatter) -> None:
    for text in ("x" * 900_000, "x\n" * 900_000):
        record = logging.LogRecord("hopline.x", logging.ERROR, "", 1, "%s", (text,), None)
        assert len(formatter.format(record)) < 100_000


def test_as_json_nothing_moves_a_cursor_or_ends_a_line() -> None:
    text = formatted(JsonFormatter(), FORGED)
    assert text.isprintable()
    assert FORGED in json.loads(text)["traceback"]
