"""How wide text is, and where it has colour: a terminal decides, a script gets the same as ever."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from streams.cli.look.verify_text import WORDS as FAULTS
from streams.cli.run.up_text import STATES
from streams.cli.text.table import table
from streams.cli.text.terminal import (
    ENDINGS,
    NARROWEST,
    WIDEST,
    Words,
    coloured,
    folded,
    painted,
    table_width,
    text_width,
)

EXPLAIN = ("explain", "combined", "--at", "ServerA/DatabaseA", "--to", "TargetService")
PATH = ("path", "routing_loop", "--from", "ServerA/DatabaseA", "--to", "TargetService")
CHECK = ("check", "several_targets")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(columns: int, *words: str, **variables: str) -> str:
    """Return what a command writes to a terminal of so many columns."""
    termios = pytest.importorskip("termios")
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (40, columns))
    removed = ("COLUMNS", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if name not in removed}
    with subprocess.Popen(
        [sys.executable, "-m", "streams", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, env={**kept, "TERM": "xterm", **variables},
    ):  # fmt: skip
        os.close(theirs)
        read = bytearray()
        try:
            while part := os.read(ours, 65536):
                read += part
        except OSError:  # Linux: the other end is closed
            pass
        finally:
            os.close(ours)
    return read.decode().replace("\r\n", "\n")


def to_file(*words: str, **variables: str) -> str:
    command = [sys.executable, "-m", "streams", *words]
    environment = {**os.environ, "TERM": "xterm", **variables}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment
    ).stdout


@pytest.mark.long
@pytest.mark.parametrize("words", [EXPLAIN, PATH, CHECK, ("verify", "--help"), ("--help",)])
@pytest.mark.parametrize("columns", [80, 140])
def test_text_has_the_terminals_width(words: tuple[str, ...], columns: int) -> None:
    text = click.unstyle(on_terminal(columns, *words))
    longest = max(map(len, text.splitlines()))
    assert longest <= columns
    if words in ((*CHECK,), ("verify", "--help")):
        assert longest > columns - 20


@pytest.mark.long
@pytest.mark.parametrize("words", [EXPLAIN, PATH, CHECK, ("verify", "--help")])
def test_a_script_gets_the_same_whatever_the_terminal(words: tuple[str, ...]) -> None:
    assert to_file(*words, COLUMNS="140") == to_file(*words) != ""


def test_the_width_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert text_width(io.StringIO()) is None
    for columns, width in ((40, NARROWEST), (80, 80), (300, WIDEST)):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert text_width(Terminal()) == width
    assert table_width() == 300  # columns that do not fit are left out


def test_a_table_names_the_columns_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script gets the rows only."""
    columns = ("name", "service", "address")
    rows = [{"name": "R", "service": "S" * 20, "address": "T"}]
    assert list(table(rows, columns, 20))[-1] == "(1 row)"
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert list(table(rows, columns, 20))[-1] == "(1 row; no room for service)"
    assert list(table(rows, columns, 80))[-1] == "(1 row)"


@pytest.mark.long
@pytest.mark.parametrize("words", [CHECK, PATH])
def test_a_terminal_gets_colour_unless_it_is_unwanted(words: tuple[str, ...]) -> None:
    assert "\x1b[31m" in on_terminal(80, *words)
    assert "\x1b" not in on_terminal(80, *words, NO_COLOR="1")
    assert "\x1b" not in on_terminal(80, *words, TERM="dumb")
    assert "\x1b" not in on_terminal(80, *words, "--format", "json")
    assert "\x1b" not in to_file(*words)


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [({}, None), ({"NO_COLOR": ""}, None), ({"NO_COLOR": "0"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour_is_off_by_no_color_and_by_a_dumb_terminal(
    variables: dict[str, str], wanted: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert coloured() is wanted


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("short", ["short"]),
        ("one two three four five", ["one two three", "  four five"]),
        ("  M1  one two three four", ["  M1  one two", "      three four"]),
        ("a-very-long-name  one two", ["a-very-long-name", "  one two"]),
        ("\x1b[31mTA-1\x1b[0m  one two three", ["\x1b[31mTA-1\x1b[0m  one two", "      three"]),
    ],
)  # fmt: skip
def test_a_line_continues_below_its_column(line: str, rows: list[str]) -> None:
    assert folded(line, 16).split("\n") == rows
    assert folded(line, None) == line


@pytest.mark.parametrize(
    "text",
    [
        "A -> B: ok, 1 path",
        "└─ DROPPED at X: 1",
        "S -> T: hazard",
        "to X; NOT ACKNOWLEDGED: LOOP: y",
    ],
)
def test_a_word_has_colour_and_no_line(text: str) -> None:
    shown = painted(text, ENDINGS)
    assert click.unstyle(shown) == text
    assert shown != text and not shown.startswith("\x1b")


@pytest.mark.parametrize(
    ("line", "words", "coloured"),
    [
        ("verdict                 nothing lost, 3 undecided", FAULTS, ["nothing lost"]),
        ("verdict                 1 lost, 2 out of order", FAULTS, ["lost", "out of order"]),
        ("  lost       4ddf8b15-835d-5100-954c-21bedd064fa6  target's 0", FAULTS, ["lost"]),
        ("  verdict                     nothing lost", FAULTS, ["nothing lost"]),
        ("  note: nothing lost by lost routes", FAULTS, []),
        ("running: hub at 127.0.0.1:9092, prefix ssb.", STATES, ["running"]),
        ("  forwarder  gone, process 7, since then", STATES, ["gone"]),
        ("  endpoint   ServerA, not ready, heartbeat 1.0 s ago", STATES, ["not ready"]),
        ("  endpoint   running, process 7, not answering", STATES, ["running", "not answering"]),
        ("  no worker  forwarder of broken, partition 0", STATES, ["no worker"]),
    ],
)
def test_a_verdict_and_a_state_have_colour(line: str, words: Words, coloured: list[str]) -> None:
    assert re.findall(r"\x1b\[3\dm\x1b\[1m(.*?)\x1b\[0m", painted(line, words)) == coloured


def test_a_path_names_no_word_by_accident() -> None:
    for text in ("S/ok/broken -> DROPPED: x", "delivered to DELAYED/D", "UNKNOWN, LOOP"):
        assert painted(text, ENDINGS) == text


def test_nothing_else_decides() -> None:
    """Neither the width nor the colour; progress that overwrites itself asks for a terminal."""
    sources = Path(__file__).parents[2].joinpath("streams", "cli").rglob("*.py")
    deciding = {
        path.name
        for path in sources
        if any(n in path.read_text("utf-8") for n in ("get_terminal_size", "NO_COLOR", "color="))
    }
    assert deciding == {"terminal.py"}
