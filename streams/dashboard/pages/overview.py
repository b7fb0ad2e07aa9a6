"""Overview: is everything all right, and if not, what is to be done?"""

from __future__ import annotations

from collections.abc import Mapping

from streams.dashboard.address import Address
from streams.dashboard.context import Context
from streams.dashboard.figures import Window
from streams.dashboard.model.charts import COUNT_TEXT, DURATION_TEXT, RATE_TEXT, bars, lines
from streams.dashboard.model.overview import Found, Overview, overview_of, read_overview
from streams.dashboard.page import Content, Page, Places
from streams.dashboard.template import part
from streams.store import Cause, Store

_COLOURS = {
    Cause.RETRY: "blue",
    Cause.REDELIVERY: "teal",
    Cause.SEVERAL_TARGETS: "bad",
    Cause.UNKNOWN: "faint",
}
_ROWS = 12


def layout(places: Places) -> None:
    """Make the places of the page."""
    places.html("tiles", "tiles")
    places.chart("rates", "Messages delivered", "per second", "half")
    places.chart("latencies", "Latency", "from the command to the queue", "half")
    places.chart("duplicates", "Superfluous copies", "by cause; removed before the queue", "half")
    places.html("losses", "panel half")
    places.html("ways", "panel half")
    places.html("hops", "panel half")


def view(context: Context, address: Address) -> Mapping[str, Content]:
    """Return what is in them."""
    nothing = Found(Window.of(address.span, context.now()))
    overview = overview_of(context.figures.ask(_read, address.span, nothing))
    return {
        "tiles": part("overview", "tiles", overview),
        "losses": part("overview", "losses", overview.losses[:_ROWS], len(overview.losses)),
        "ways": part("overview", "ways", overview.ways[:_ROWS], len(overview.ways)),
        "hops": part("overview", "hops", overview.hops[:_ROWS], len(overview.hops)),
        **_charts(overview),
    }


def _read(store: Store, window: Window) -> Found:
    return read_overview(store, window)


def _charts(overview: Overview) -> dict[str, Content]:
    series = {
        name: [getattr(each, name) for each in overview.quantiles] for name in ("p50", "p95", "p99")
    }
    causes = {cause: overview.duplicates_over_time[cause] for cause in Cause}
    named = {cause.value: values for cause, values in causes.items()}
    return {
        "rates": lines(
            overview.buckets, {"messages": overview.rates}, ("blue",), RATE_TEXT, area=True
        ),
        "latencies": lines(overview.buckets, series, ("q50", "q95", "q99"), DURATION_TEXT),
        "duplicates": bars(overview.buckets, named, tuple(_COLOURS[c] for c in Cause), COUNT_TEXT),
    }


OVERVIEW = Page("/", "Overview", "1", layout, view)
