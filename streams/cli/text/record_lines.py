"""Print records: one per line, as a dialog's chronological story, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import click

from streams.cli.text.records import what, where
from streams.cli.text.terminal import table_width
from streams.cli.text.values import clock, day, middle, shorten
from streams.prose import one_line, wrapped
from streams.wire.describe import Description

SHORTEST_ID = 8
"""The number of characters of a conversation's id that are shown."""


def json_lines(record: Description) -> None:
    """Print a record as JSON on one line."""
    click.echo(json.dumps(record, ensure_ascii=False))


def lines() -> Callable[[Description], None]:
    """Return a function that prints a record as one line: time, place, dialog, content."""
    width, days = table_width(), _Days()

    def show(record: Description) -> None:
        days.turn(record["at"])
        kind = record["kind"]
        name = record["topic"] if kind is None else _short(kind, record)
        place = middle(f"{name}/{record['partition']}@{record['offset']}", 28)
        dialog = one_line((record["conversation"] or "")[:SHORTEST_ID])
        left = f"{clock(record['at'])}  {place:<28}  {dialog:<{SHORTEST_ID}}  "
        if "malformed" in record:  # never shortened: the reason is the important part
            _wrapped(left, what(record), width)
        else:
            click.echo((left + shorten(what(record), width - len(left))).rstrip())

    return show


def _short(kind: str, record: Description) -> str:
    """Return a short topic name: without prefix and escapes."""
    if kind == "event":  # one topic for all instances: add the event's instance
        return f"event {one_line(record.get('instance') or '')}".rstrip()
    database = record.get("database") if kind == "queue" else None
    parts = (record.get("instance") if kind != "presence" else None, database, record.get("queue"))
    return ".".join([kind, *(shorten(str(p), 60) for p in parts if p)])


def story() -> Callable[[Description], None]:
    """Return a function that prints the records of one dialog as a story, in wrapped lines."""
    width, days, titled = table_width(), _Days(), [False]

    def show(record: Description) -> None:
        if not titled[0]:
            titled[0] = True
            click.echo(f"Conversation {one_line(str(record['conversation']))}")
        days.turn(record["at"])
        place = middle(where(record), 20)
        left = f"{clock(record['at'])}  {record['kind'] or '':<6}  {place:<20}  "
        _wrapped(left, what(record), width)

    return show


def _wrapped(left: str, text: str, width: int) -> None:
    for line in wrapped(text, left, width=width, break_words=True):
        click.echo(line)


class _Days:
    """Print each new day once, for lines that show only the time."""

    def __init__(self) -> None:
        self._day = ""

    def turn(self, at: int) -> None:
        """Print the day of a record if it has changed."""
        today = day(at)
        if today and today != self._day:
            self._day = today
            click.echo(f"{today} (UTC)")
