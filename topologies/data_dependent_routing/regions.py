"""The services that have the figures of a region each: an answer to every query, and the end."""

from __future__ import annotations

from xml.etree import ElementTree

from streams.agents import Dialog, HoplineApp, Received, hopline_app
from streams.xml_reader import parse_xml

PER_MONTH = {
    ("BR", "T-200"): 410, ("CA", "T-100"): 120, ("US", "T-100"): 1730,
    ("DE", "T-100"): 640, ("ES", "T-100"): 220, ("FR", "T-300"): 95,
    ("IN", "T-200"): 880, ("JP", "T-100"): 560,
}  # fmt: skip
"""Pieces sold a month, by country and product."""


NOT_A_QUERY = (50_001, "The query has no months: from and to are dates, such as 2026-03-01.")
"""The error that ends a dialog whose query cannot be answered."""


def figures(query: bytes, region: str) -> bytes | None:
    """Return the answer to a query; ``None`` if it has no months.

    A query that raised an error would be rolled back and received again: after five times its queue
    would be turned off, for every other query as well.
    """
    asked = parse_xml(query)
    if asked is None:
        return None
    country, product, first, last = (
        asked.findtext(w, "") for w in ("country", "product", "from", "to")
    )
    try:
        months = int(last[5:7]) - int(first[5:7]) + 1
    except ValueError:
        return None
    pieces = PER_MONTH.get((country, product), 0) * months
    answer = ElementTree.Element("salesFigures", region=region, country=country, product=product)
    answer.text = str(pieces)
    return ElementTree.tostring(answer)


def region(name: str) -> HoplineApp:
    """Return the application of a region, at the instance of that name."""
    app = hopline_app(f"sales-{name.lower()}", instance=name, database="Sales", web_enabled=False)

    @app.service(f"Sales{name}", contract="SalesContract")
    async def answer(dialog: Dialog, message: Received) -> None:
        found = None if message.ends_dialog else figures(message.body, name)
        if found is not None:
            await dialog.send(found, type="SalesFigures")
        is_answered = message.ends_dialog or found is not None
        await dialog.end(error=None if is_answered else NOT_A_QUERY)

    return app


apps = [region(name) for name in ("Americas", "Europe", "Asia")]
