"""The terminal: the only module that decides how wide text is and where it is coloured."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import TextIO

import click

from streams.prose import lines, wrapped

NARROWEST, WIDEST = 60, 160
"""Width in columns: the minimum for lines of records, and the maximum for sentences."""
BAD, CARE, GOOD = "red", "yellow", "green"

Words = Mapping[str, str]
"""Regular expressions, each with the colour of the words that it matches."""

ENDINGS: Words = {
    r"\b(?:DROPPED|UNKNOWN)(?= at )|\bUNKNOWN(?=: )|\bLOOP(?=: )|\bNOT ACKNOWLEDGED\b": BAD,
    r"\bDELAYED(?= at )": CARE,
    r"(?<=: )broken(?=$|, \d)": BAD,
    r"(?<=: )hazard(?=$|, \d)": CARE,
    r"(?<=: )ok(?=$|, \d)": GOOD,
}
"""The words for the ends of paths and for a flow's verdict."""
_RESET = "\x1b[0m"
_GAP = re.compile(r"\S  +(?=\S)")


def table_width() -> int:
    """Return the width for tables and records: the terminal's, or 100 without a terminal."""
    return max(NARROWEST, shutil.get_terminal_size((100, 24)).columns)


def text_width(stream: TextIO | None = None) -> int | None:
    """Return the width for sentences; None if stdout, or ``stream``, is not a terminal.

    Without a terminal, sentences are not folded, so a script always gets the same text.
    """
    if not (stream or sys.stdout).isatty():
        return None
    return min(WIDEST, table_width())


def coloured() -> bool | None:
    """Return click's ``color``: False for no colours, None for colours only on terminals."""
    unwanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if unwanted else None


def show(text: str, words: Words | None = None) -> None:
    """Print human-readable text, folded to the terminal's width, with coloured words.

    Control characters are escaped, because names may contain them.
    """
    shown = lines(text.removesuffix("\n"))
    click.echo(painted(folded(shown, text_width()), words or {}))


def show_coloured(text: str) -> None:
    """Print text like :func:`show`; it has colours, so its names must be escaped already."""
    click.echo(folded(text.removesuffix("\n"), text_width()))


def write(content: str) -> None:
    """Print a script or a document: to a file or pipe unchanged, to a terminal escaped.

    ``color`` keeps click from removing parts of names that look like ANSI colour codes.
    """
    click.echo(lines(content) if sys.stdout.isatty() else content, nl=False, color=True)


def painted(text: str, words: Words) -> str:
    """Return a string with coloured words; click removes the colours if they are off."""
    for pattern, colour in words.items():
        text = re.sub(pattern, click.style(r"\g<0>", fg=colour, bold=True), text, flags=re.M)
    return text


def folded(text: str, width: int | None) -> str:
    """Return a string folded to ``width`` columns, except for longer words; None changes nothing.

    If a line has columns, its continuation begins below the second column, otherwise with an indent
    of two more spaces. The first word of a line may have a colour.
    """
    if width is None:
        return text
    return "\n".join(row for line in text.split("\n") for row in _rows(line, width))


def _rows(line: str, width: int) -> list[str]:
    plain = click.unstyle(line)
    if len(plain) <= width:
        return [line]
    begin = len(plain) - len(plain.lstrip())
    gap = _GAP.search(plain)
    hang = gap.end() if gap and gap.end() <= width // 2 else begin + 2
    first, *rest = wrapped(plain.lstrip(), plain[:begin], " " * hang, width=width)
    styled = line[: line.rfind(_RESET) + len(_RESET)] if _RESET in line else ""
    return [styled + first[len(click.unstyle(styled)) :], *rest]
