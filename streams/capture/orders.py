"""Bodies of a shop's orders: well-formed XML of about 150 bytes to a few KB.

An order begins with the customer and the items; later messages add lines. Like real names, the
names contain letters beyond ASCII and characters that XML escapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from streams.chance import Chance

__all__ = ["Order", "draw_order", "line_body", "order_body"]

_MAX_LINES = 40
_FIRST = ("Ana", "Björn", "Chloé", "Dagmar", "Émile", "Fatima", "Grace", "Hiro", "İpek", "Jan")
_LAST = ("Müller", "Sørensen", "O'Neill", "García", "Nowak", "Dvořák", "Smith & Sons", "Rossi")
_STREETS = ("Kastanienallee", "Rue de l'Église", "High Street", "Calle Mayor", "Ulica Długa")
_CITIES = (
    ("10115", "Berlin", "DE"),
    ("75011", "Paris", "FR"),
    ("28013", "Madrid", "ES"),
    ("80-831", "Gdańsk", "PL"),
    ("EH1 1YZ", "Edinburgh", "GB"),
    ("2100", "København", "DK"),
)
_GOODS = (
    ("Espresso beans, dark roast", 1490),
    ("Filter paper <No. 4>", 349),
    ("Kettle 1.7 l", 4995),
    ("Cups & saucers, set of 6", 3900),
    ("Grinder with conical burr", 12900),
    ("Descaler", 795),
    ("Milk jug, steel", 1850),
    ("Drip tray", 1200),
    ("Gasket Ø 58 mm", 620),
    ("Thermometer", 1399),
    ("Tamper", 2450),
    ("Water filter, 3 pieces", 2199),
)


@dataclass(frozen=True, slots=True)
class Order:
    """The values that all messages of one dialog share: the order's number and its first lines."""

    number: int
    customer: str


def draw_order(chance: Chance, number: int) -> Order:
    """Draw an order."""
    name = f"{chance.pick(_FIRST)} {chance.pick(_LAST)}"
    postcode, city, country = chance.pick(_CITIES)
    street = f"{chance.pick(_STREETS)} {1 + chance.below(180)}"
    return Order(
        number,
        f'<Customer number="C{chance.below(100_000):05d}"><Name>{escape(name)}</Name>'
        f"<Address><Street>{escape(street)}</Street><PostCode>{postcode}</PostCode>"
        f"<City>{city}</City><Country>{country}</Country></Address></Customer>",
    )


def order_body(chance: Chance, order: Order) -> bytes:
    """Draw the first message of an order."""
    remark = "<Remark>Please ring twice &amp; wait.</Remark>" if chance.once_in(5) else ""
    lines = _lines(chance, 1, min(1 + int(12 * chance.heavy()), _MAX_LINES))
    return (
        f'<?xml version="1.0" encoding="utf-8"?><Order xmlns="urn:hopline:order" '
        f'number="{order.number}" currency="EUR">{order.customer}{remark}'
        f"<Lines>{''.join(lines)}</Lines></Order>"
    ).encode()


def line_body(chance: Chance, order: Order, ordinal: int) -> bytes:
    """Draw a later message of an order; ``ordinal`` is its place in the dialog."""
    lines = _lines(chance, ordinal, min(1 + int(5 * chance.heavy()), _MAX_LINES))
    return (
        f'<OrderLine xmlns="urn:hopline:order" order="{order.number}" part="{ordinal}">'
        f"{''.join(lines)}</OrderLine>"
    ).encode()


def _lines(chance: Chance, first: int, count: int) -> Sequence[str]:
    return [_line(chance, first + n) for n in range(count)]


def _line(chance: Chance, ordinal: int) -> str:
    text, cents = chance.pick(_GOODS)
    article = 1_000_000 + chance.below(9_000_000)
    quantity = 1 + int(chance.heavy())
    cents -= cents * chance.below(4) // 20  # a discount of 0, 5, 10 or 15 %
    return (
        f'<Line n="{ordinal}"><Article number="{article}">{escape(text)}</Article>'
        f"<Quantity>{quantity}</Quantity><Price>{cents // 100}.{cents % 100:02d}</Price></Line>"
    )
