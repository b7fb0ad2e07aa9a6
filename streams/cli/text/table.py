"""Format rows as a table with as many columns as the terminal allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from streams.cli.text.terminal import text_width
from streams.cli.text.values import body_text, shorten, type_text
from streams.live.views.places import Row
from streams.prose import counted
from streams.wire.plain import body_of

_GAP = "  "
_WIDEST = 36


def table(rows: Iterable[Row], columns: Sequence[str], width: int) -> Iterator[str]:
    """Yield the lines of a table with the columns that fit; in a terminal, name the others.

    Only shortened cells of the rows are kept in memory, not whole bodies.
    """
    cells = [{name: _cell(name, row[name]) for name in columns} for row in rows]
    if not cells:
        yield "(no rows)"
        return
    sizes = {c: max(len(c), *(len(row[c]) for row in cells)) for c in columns}
    shown, used = [], 0
    for name in columns:
        if used + sizes[name] <= width:
            shown.append(name)
            used += sizes[name] + len(_GAP)
    yield _GAP.join(name.ljust(sizes[name]) for name in shown).rstrip()
    yield _GAP.join("-" * sizes[name] for name in shown)
    for row in cells:
        yield _GAP.join(row[name].ljust(sizes[name]) for name in shown).rstrip()
    left = [name for name in columns if name not in shown] if text_width() else []
    more = f"; no room for {', '.join(left)}" if left else ""
    yield f"({counted(len(cells), 'row')}{more})"


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, bytes):
        return body_text(body_of(value), 20)
    text = type_text(str(value)) if name == "message_type_name" else str(value)
    return shorten(text, _WIDEST)
