"""Format refused statements: the count for each error number, and the first statement."""

from __future__ import annotations

from collections.abc import Iterator

from streams.cli.text.values import instant
from streams.errors import text_of
from streams.errors.refusals import Refusals


def refused_lines(refusals: Refusals) -> Iterator[str]:
    """Yield two lines for each error number."""
    for number, count, first in refusals:
        side = "initiator" if first.from_initiator else "target"
        who = f"{side}'s {first.statement}" if first.statement else side
        yield f"{count:,} x {number}, {text_of(number)}"
        yield f"  first {instant(first.at)}, {first.conversation}, {who}, {first.place}"
