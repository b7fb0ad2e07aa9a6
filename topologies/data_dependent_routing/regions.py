"""The services that have the figures of a region each: an answer to every query, and the end."""

from __future__ import annotations

from xml.etree import ElementTree

from streams.agents import Dialog, HoplineApp, Received, hopline_app

PER_MONTH = {
    ("BR", "T-200"): 410, ("CA", "T-100"): 120, ("US", "T-100"): 1730,
    ("DE", "T-100"): 640, ("ES", "T-100"): 220, ("FR", "T-300"): 95,
    ("IN", "T-200"): 880, ("JP", "T-100"): 560,
}  # fmt: skip
"""Pieces sold a month, by country and product."""


def figures(query: bytes, region: str) -> bytes:
    """Return the answer to a query."""
    asked = ElementTree.fromstring(query)
    country, product, first, last = (
        asked.findtext(w, "") for w in ("country", "product", "from", "to")
    )
    months = int(last[5:7]) - int(first[5:7]) + 1
    pieces = PER_MONTH.get((country, product), 0) * months
    answer = ElementTree.Element("salesFigures", region=region, country=country, product=product)
    answer.text = str(pieces)
    return ElementTree.tostring(answer)


def region(name: str) -> HoplineApp:
    """Return the application of a region, at the instance of that name."""
    app = hopline_app(f"sales-{name.lower()}", instance=name, database="Sales", web_enabled=False)

    @app.service(f"Sales{name}", contract="SalesContract")
    async def answer(dialog: Dialog, message: Received) -> None:
        if not message.ends_dialog:
            await dialog.send(figures(message.body, name), type="SalesFigures")
        await dialog.end()

    return app


apps = [region(name) for name in ("Americas", "Europe", "Asia")]
