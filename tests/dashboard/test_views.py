"""The system views on a page, of which only the first rows are kept."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from streams.dashboard import views
from streams.live.views.places import Asked, Row, View
from tests.topology.build import shipped

BODY, COUNT = 100_000, 300


def rows(_: Asked) -> Iterator[Row]:
    for number in range(COUNT):
        yield {"database": "D", "message_body": bytes(BODY), "number": number}


def test_rows_that_are_not_shown_are_counted_and_not_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bodies of a long transmission queue could have gigabytes."""
    view = View(("database", "message_body", "number"), ("message_body", "number"), rows)
    monkeypatch.setattr(views, "VIEWS", {"sys.made_up": view})
    topology = shipped("two_brokers")
    tracemalloc.start()
    try:
        found = views.read_view("sys.made_up", "ServerA", topology, None, 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (found.columns, found.more) == (("database", "message_body", "number"), COUNT - 100)
    assert [row[2] for row in found.rows] == [str(number) for number in range(100)]
    assert found.rows[0][1].startswith(f"{{'size': {BODY}, 'text': '\\x00")
    assert peak < 30 * BODY
