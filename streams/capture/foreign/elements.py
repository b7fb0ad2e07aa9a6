"""Read the elements of an XML file of any size as text, skipping only damaged elements."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from streams.capture.foreign.findings import Report
from streams.capture.foreign.text import LONGEST, pieces

_BEGIN = re.compile(r"(<|&lt;)(event|Event)(?=[\s/>])")
_OVERLAP = 16  # characters that may be the start of a start tag


def elements(path: Path, report: Report) -> Iterator[tuple[int, str]]:
    """Yield every ``event`` or ``Event``, with the line where it begins.

    The elements need no common root, and may be escaped in another element or an attribute, as FOR
    XML returns ``event_data``.
    """
    buffer, line = "", 1
    for piece in chain(pieces(path), (None,)):
        buffer += piece or ""
        at = 0
        while (begin := _BEGIN.search(buffer, at)) is not None:
            line += buffer.count("\n", at, begin.start())
            at = begin.start()
            end, whole = _end(buffer, begin, last=piece is None)
            if end == at:  # the element may continue in the next piece
                break
            text = _plain(buffer[at:end], begin[1]) if whole else None
            if text is not None:
                yield line, text
            elif whole:
                report.leave("an event with an invalid character reference", f"{path}:{line}")
            else:
                report.leave("an unterminated event", f"{path}:{line}")
            line += buffer.count("\n", at, end)
            at = end
        else:
            end = max(at, len(buffer) - _OVERLAP)
            line += buffer.count("\n", at, end)
            at = end
        buffer = buffer[at:]


def _end(buffer: str, begin: re.Match[str], *, last: bool) -> tuple[int, bool]:
    """Return the end of an element (its start if unknown), and whether it is complete."""
    left, close = ("<", ">") if begin[1] == "<" else ("&lt;", "&gt;")
    closing = f"{left}/{begin[2]}{close}"
    following = _BEGIN.search(buffer, begin.end())
    # Search only up to the next start tag. Otherwise, a file of start tags would be searched to its
    # end for each of them.
    limit = len(buffer) if following is None else following.start()
    head = buffer.find(close, begin.end(), limit)
    if head > 0 and buffer[head - 1] == "/":
        return head + len(close), True
    stop = buffer.find(closing, begin.end(), limit)
    if stop >= 0:
        return stop + len(closing), True
    if following is not None:
        return limit, False
    broken = last or len(buffer) - begin.start() > LONGEST
    return (begin.end() if broken else begin.start()), False


def _plain(text: str, opening: str) -> str | None:
    """Return an element without escapes; ``None`` if a reference has too many digits."""
    try:
        return text if opening == "<" else html.unescape(text)
    except ValueError:
        return None
