"""The routes that a dialog needs in both directions, tier by tier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from streams.topology.model import MSDB

Table = tuple[str, str]
"""An instance and one of its databases."""
Tiers = tuple[tuple[str, ...], ...]
"""The forwarders on a path: a message passes through one instance of each tier."""


@dataclass(frozen=True, slots=True)
class RouteDraft:
    """A planned route: its table, the names in it, and the instance to which it leads."""

    table: Table
    service: str
    broker: str | None
    to: str


class PathKind(Enum):
    """The kind of path that a dialog's messages take."""

    LOCAL = "local"
    DIRECT = "direct"
    GATEWAYS = "gateways"
    HUBS = "hubs"


@dataclass(frozen=True, slots=True)
class Home:
    """A service in its database, with the database's broker id."""

    table: Table
    service: str
    broker: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A target service: one home, or several that share its dialogs.

    ``guarded``: even messages from its own region pass through the gateways. ``by_name``: routes to
    it do not specify a broker id.
    """

    number: int
    region: int
    domain: str
    noun: str
    homes: tuple[Home, ...]
    guarded: bool = False
    by_name: bool = False

    @property
    def service(self) -> str:
        """Return the service's name."""
        return f"//estate/{self.domain}/{self.noun}{self.number}"


@dataclass(frozen=True, slots=True)
class Flow:
    """Dialogs that an application begins with a service."""

    sender: Home
    offer: Offer
    path_kind: PathKind
    tiers: Tiers = ()
    rows: tuple[RouteDraft, ...] = ()


def rows_between(sender: Home, offer: Offer, tiers: Tiers) -> tuple[RouteDraft, ...]:
    """Return the routes of both directions without duplicates."""
    rows: dict[RouteDraft, None] = {}
    for home in offer.homes:
        broker = None if offer.by_name else home.broker
        rows |= dict.fromkeys(_leg(sender.table, tiers, home.table[0], offer.service, broker))
        back = _leg(home.table, tiers[::-1], sender.table[0], sender.service, sender.broker)
        rows |= dict.fromkeys(back)
    return tuple(rows)


def _leg(
    start: Table, tiers: Tiers, target: str, service: str, broker: str | None
) -> Iterator[RouteDraft]:
    tables: tuple[Table, ...] = (start,)
    for tier in (*tiers, (target,)):
        for table in tables:
            yield from (RouteDraft(table, service, broker, to) for to in tier)
        tables = tuple((name, MSDB) for name in tier)
