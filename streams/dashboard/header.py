"""Content around every page: navigation, time range, age of figures, unavailable sources."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from streams.dashboard import wording
from streams.dashboard.address import Address
from streams.dashboard.context import Context
from streams.dashboard.figures import Trouble, Window
from streams.dashboard.model.buckets import LAGS
from streams.dashboard.page import Page
from streams.dashboard.span import PRESETS, Span, in_address
from streams.dashboard.template import part
from streams.store import Situation, Store

OLD = LAGS
"""Age in milliseconds at which figures are marked as old."""
_NAMES = {"store": "The store", "topology": "The topology", "kafka": "Kafka"}


@dataclass(frozen=True, slots=True)
class Link:
    """A link: its text, its target, whether it is current."""

    words: str
    to: str
    chosen: bool = False
    key: str = ""


@dataclass(frozen=True, slots=True)
class Away:
    """An unreadable source, and the error's text."""

    what: str
    message: str
    since: str


def header_of(
    context: Context, pages: tuple[Page, ...], page: Page, address: Address
) -> dict[str, Markup]:
    """Return the content of the frame's places."""
    now = context.now()
    as_of = context.figures.ask(as_of_store, Span(), None)
    return {
        "skip": part("frame", "skip"),
        "navigation": part("frame", "navigation", links_of(pages, page, address)),
        "span": part("frame", "span", **_span(address, now)),
        "as_of": part("frame", "as_of", **age(as_of, now)),
        "banner": part("frame", "banner", troubles(context), _jump(address, as_of, now)),
    }


def as_of_store(store: Store, window: Window) -> int | None:
    """Return the time until which the store has figures, whatever time range is shown."""
    known = (at for at in (store.as_of(), Situation(store).looked_at()) if at is not None)
    return min(known, default=None)


def links_of(pages: tuple[Page, ...], page: Page, address: Address) -> tuple[Link, ...]:
    """Return a link to every page; each link keeps the time range."""
    return tuple(Link(p.name, str(address.to(p.path)), p is page, p.key) for p in pages)


def _span(address: Address, now: int) -> dict[str, object]:
    span = address.span
    since, until = span.bounds(now // 1_000 * 1_000)
    presets = [
        Link(Span(length).words, str(address.at(Span(length))), span == Span(length))
        for length in PRESETS
    ]
    chosen = {name: value for name, value in address.chosen.items() if value}
    return {
        "words": span.words,
        "live": span.live,
        "presets": presets,
        "back": str(address.at(span.moved(-1, now))),
        "forth": None if span.live else str(address.at(span.moved(1, now))),
        "now": None if span.live else str(address.at(Span())),
        "since": in_address(since // 1_000 * 1_000),
        "until": in_address(until // 1_000 * 1_000),
        "chosen": chosen,
        "path": address.path,
    }


def age(as_of: int | None, now: int) -> dict[str, object]:
    """Return the age of the figures."""
    if as_of is None:
        return {"at": None, "ago": "", "old": True}
    behind = max(0, now - as_of)
    return {"at": as_of, "ago": wording.duration(behind // 1_000 * 1_000), "old": behind > OLD}


def troubles(context: Context) -> tuple[Away, ...]:
    """Return the sources that cannot be read at present."""
    found = {name: trouble for name, trouble in context.troubles().items() if trouble is not None}
    if found.get("topology") == found.get("kafka"):  # one outage, one banner
        found.pop("topology", None)
    return tuple(_away(_NAMES[name], trouble) for name, trouble in found.items())


def _away(what: str, trouble: Trouble) -> Away:
    return Away(what, trouble.message, wording.clock(trouble.since))


def _jump(address: Address, as_of: int | None, now: int) -> Link | None:
    """Return a link to the newest figures if the live time range has none; otherwise ``None``."""
    since, until = address.span.bounds(now)
    if as_of is None or not address.span.live or as_of > since:
        return None
    end, length = as_of // 1_000 * 1_000, until - since
    if end < length:  # no figures are older than 1970
        return None
    last = Span("", end - length, end)
    return Link(f"Show {last.words}", str(address.at(last)))
