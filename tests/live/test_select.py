"""`hopline query` over many large bodies, without Kafka: what is read, kept, copied and printed."""

from __future__ import annotations

import json
import os
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from streams.cli.look.query import _print
from streams.cli.text.table import table
from streams.errors import UsageError
from streams.kafka import Cluster
from streams.live.views import select
from streams.live.views.places import Asked, Row, View
from streams.live.views.select import answer
from streams.topology import Topology

BODY, COUNT = 100_000, 100
COLUMNS = ("number", "enqueue_time", "is_odd", "message_body")
ASKED = Asked(Cluster(""), Topology({}), (), 0)


def rows(_: Asked) -> Iterator[Row]:
    for number in range(COUNT):
        body = b"%04d" % number + bytes(BODY)
        values = (number, number or None, bool(number % 2), body)
        yield dict(zip(COLUMNS, values, strict=True))


@pytest.fixture(autouse=True)
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "VIEWS", {"sys.many": View(COLUMNS, COLUMNS, rows)})


def selected(text: str) -> list[Row]:
    with answer(ASKED, text, "at {}".format) as found:
        return list(found.rows)


def test_a_select_has_the_rows_of_the_view() -> None:
    first, second = selected("SELECT TOP 2 * FROM sys.many ORDER BY number")
    assert first == {
        "number": 0, "enqueue_time": None, "is_odd": False, "message_body": b"0000" + bytes(BODY),
    }  # fmt: skip
    assert (second["enqueue_time"], second["is_odd"]) == ("at 1", True)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM sys.many WHERE SUBSTR(message_body, 1, 4) = x'30303031'",
        "SELECT COUNT(*) AS n FROM (SELECT MESSAGE_BODY AS b FROM sys.many) WHERE b >= x'30303939'",
        "SELECT COUNT(DISTINCT [message_body]) / 100 AS n FROM sys.many",
    ],
)
def test_bodies_are_copied_if_the_statement_reads_them(text: str) -> None:
    assert selected(text) == [{"n": 1}]


def test_the_transmission_status_of_a_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = ("conversation_handle", "transmission_status")
    queue = [("aa-1", None), ("aa-1", "9753"), ("aa-1", "later"), ("aa-2", "")]
    view = View(columns, columns, lambda _: (dict(zip(columns, row, strict=True)) for row in queue))
    monkeypatch.setattr(select, "VIEWS", {"sys.transmission_queue": view})
    [found] = selected(
        "SELECT GET_TRANSMISSION_STATUS('AA-1') a, get_transmission_status (N'aa-2') b, "
        "GET_TRANSMISSION_STATUS('aa-3') c, GET_TRANSMISSION_STATUS(NULL) d"
    )
    assert found == {"a": "9753", "b": "", "c": "", "d": ""}


def test_rows_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "_PAGES", COUNT * BODY // 2 // 4_096)
    for text in ("SELECT * FROM sys.many", "SELECT TOP 1 message_body FROM sys.many"):
        with pytest.raises(UsageError, match="more than 1 GB") as caught:
            selected(text)
        assert caught.value.remedy.startswith("Leave out message_body, ")


def test_bodies_that_the_statement_does_not_read_do_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(select, "_PAGES", 20)
    assert selected("SELECT COUNT(*) AS n FROM sys.many") == [{"n": COUNT}]
    assert selected("SELECT number FROM sys.many WHERE number = 7") == [{"number": 7}]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc shows open files")
def test_many_bodies_are_in_a_temporary_file() -> None:
    """Python does not count SQLite's memory."""
    with answer(ASKED, "SELECT * FROM sys.many", str):
        opened = [(fd, fd.readlink()) for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
        size = sum(fd.stat().st_size for fd, file in opened if file.name.startswith("etilqs_"))
    assert size > COUNT * BODY // 2


def test_what_sqlite_refuses_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "_fill", lambda *_: pytest.fail("it is read"))
    for text, why in (("SELECT x FROM sys.many", "no such column: x"), ("SELECT (", "incomplete")):
        with pytest.raises(UsageError, match=f"The SELECT failed: {why}"):
            selected(text)


@pytest.mark.parametrize("format_", ["json", "text"])
def test_rows_are_printed_without_keeping_their_bodies(format_: str) -> None:
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        tracemalloc.start()
        try:
            _print(rows(ASKED), COLUMNS, format_)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < COUNT * BODY // 3


@pytest.mark.parametrize("count", [0, 1, 3])
def test_json_is_that_of_the_whole_list(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    made = [
        {"text": "a\nb\u2028c\x85ä", "empty": None, "list": [1, {"x": []}], "n": n}
        for n in range(count)
    ]
    _print(iter(made), (), "json")
    assert capsys.readouterr().out == json.dumps(made, indent=2, ensure_ascii=False) + "\n"


def test_a_table_of_no_rows_says_so() -> None:
    assert list(table(iter(()), COLUMNS, 100)) == ["(no rows)"]
