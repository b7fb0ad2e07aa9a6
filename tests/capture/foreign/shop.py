"""A shop's message log, made up from a seed: ``docs/examples/shop.csv``.

Run ``python -m tests.capture.foreign.shop`` to write it anew.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from streams.chance import Chance

PATH = Path(__file__).parents[3] / "docs" / "examples" / "shop.csv"
ORDERS, MESSAGES = 240, 2_000
_MORNING = datetime(2026, 1, 5, 8, tzinfo=UTC)
_FIRST = ("Ada", "Bo", "Chloé", "Dirk", "Elif", "Fay", "Günter", "Hana", "Ivo", "Jo")
_LAST = ("Adler", "Berg", "Castro", "Dietz", "Evans", "Fuchs", "García", "Holm", "Ito", "Jansen")
Row = tuple[str, str, str, str]


def rows() -> list[Row]:
    """Return order id, time, type and payload of every message, by time."""
    chance = Chance(2026)
    sizes = [1] * ORDERS
    for _ in range(MESSAGES - ORDERS):
        sizes[chance.below(ORDERS)] += 1
    made = [row for number, size in enumerate(sizes) for row in _order(chance, number, size)]
    return sorted(made, key=lambda row: row[1])


def _order(chance: Chance, number: int, size: int) -> Iterator[Row]:
    order, at = f"O-{10_000 + number}", _MORNING + timedelta(milliseconds=chance.below(600_000))
    first, last = chance.pick(_FIRST), chance.pick(_LAST)
    card = "4" + "".join(str(chance.below(10)) for _ in range(15))
    body = f'<Order id="{order}"><Customer>{first} {last}</Customer><Card>{card}</Card></Order>'
    yield order, _text(at), "//hopline/Order", body
    for line in range(1, size):
        at += timedelta(milliseconds=1 + chance.below(20_000))
        sku, count = f"K-{chance.below(9_000) + 1_000}", 1 + chance.below(5)
        body = f'<OrderLine order="{order}" line="{line}" sku="{sku}" count="{count}"/>'
        yield order, _text(at), "//hopline/OrderLine", body


def _text(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text() -> str:
    """Return the log as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("order_id", "at", "type", "payload"))
    writer.writerows(rows())
    return out.getvalue()


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
