"""Format human-readable text: wrap lines, count and list things."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction

WIDTH = 100
"""The default output width in columns, if the terminal's width is unknown."""
_width = ContextVar("width", default=WIDTH)


@contextmanager
def wrapping_at(width: int) -> Iterator[None]:
    """Set the output width while the context is active; the command line uses its terminal's."""
    token = _width.set(width)
    try:
        yield
    finally:
        _width.reset(token)


def wrapped(
    text: str,
    first: str = "",
    rest: str | None = None,
    *,
    width: int | None = None,
    break_words: bool = False,
) -> list[str]:
    """Return a string as lines of at most ``width`` columns, or of the output width by default.

    The first line begins with ``first``, all other lines with ``rest``, which by default is the
    same number of spaces. A word longer than a line is not broken, so that users can copy a path,
    unless ``break_words`` is set. An empty string becomes one line.
    """
    lines = textwrap.wrap(
        text, width or _width.get(), initial_indent=first,
        subsequent_indent=" " * len(first) if rest is None else rest,
        break_long_words=break_words, break_on_hyphens=False,
    )  # fmt: skip
    return lines or [first.rstrip()]


def one_line(text: str) -> str:
    """Return foreign text on one line; control characters are escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def lines(text: str) -> str:
    """Return foreign text with its line breaks; each line is formatted by :func:`one_line`."""
    return "\n".join(map(one_line, text.split("\n")))


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number and a noun: ``1 way``, ``1,024 ways``; by default ``many`` adds an s.

    The noun may have its verb: ``1 message waits``, ``2 messages wait``.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Iterable[str], most: int = 5, last: str = "and") -> str:
    """Return a shortened list of names for a sentence: ``a, b and 9 more``."""
    all_ = list(names)
    shown = all_[:most]
    if len(all_) > most:
        shown.append(f"{len(all_) - most:,} more")
    return f" {last} ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def clipped(text: str, most: int = 60) -> str:
    """Return a user's text for a sentence, truncated if long."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def meant(said: str, known: Iterable[str]) -> str:
    """Return "Did you mean" with the closest known name, or an empty text if none is close.

    A name that differs only in case is the closest.
    """
    names = list(known)
    folded = [name for name in names if name.casefold() == said.casefold()]
    near = folded or difflib.get_close_matches(said, names, n=1)
    return f"Did you mean '{near[0]}'?" if near else ""


def percent(share: Fraction) -> str:
    """Return a share as a percentage: ``33.3 %``."""
    return f"{float(share) * 100:.3g} %"
