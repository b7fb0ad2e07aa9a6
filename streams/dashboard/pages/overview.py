"""Overview: alarms, traffic, latency, drops."""

from __future__ import annotations

from collections.abc import Mapping

from streams.dashboard.address import Address
from streams.dashboard.context import Context
from streams.dashboard.figures import Window
from streams.dashboard.model.charts import COUNT_TEXT, DURATION_TEXT, RATE_TEXT, bars, lines
from streams.dashboard.model.overview import Found, Overview, overview_of, read_overview
from streams.dashboard.page import Content, Page, Places
from streams.dashboard.span import Span
from streams.dashboard.template import part
from streams.store import Alarm, Cause, Situation, Store

_COLOURS = {
    Cause.RETRY: "blue",
    Cause.REDELIVERY: "teal",
    Cause.SEVERAL_ROUTES: "amber",
    Cause.SEVERAL_TARGETS: "bad",
    Cause.REPLAY: "violet",
    Cause.UNKNOWN: "faint",
}
_USUAL = (Cause.RETRY, Cause.REDELIVERY)
"""Causes that the chart always shows."""
_LINES = ("blue", "teal", "amber", "violet")
_ROWS = 8
_ALARMS = 6


def layout(places: Places) -> None:
    """Create the places of the page."""
    places.html("tiles", "tiles")
    places.html("alarms", "panel")
    places.chart("rates", "Messages delivered", "per second", "third")
    places.chart("latencies", "Latency", "from the command to the queue", "third")
    places.chart("depths", "Transmission queues", "waiting messages", "third")
    places.chart("duplicates", "Duplicates", "by cause, removed", "third")
    places.html("losses", "panel two-thirds")
    places.html("ways", "panel half")
    places.html("hops", "panel half")


def view(context: Context, address: Address) -> Mapping[str, Content]:
    """Return the content of the places."""
    now = context.now()
    nothing = overview_of(Found(Window.of(address.span, now)))
    overview = context.figures.ask(_read, address.span, nothing)
    return {
        "tiles": part("overview", "tiles", overview, now if address.span.live else None),
        "alarms": _alarms(context, address),
        "losses": part(
            "overview",
            "losses",
            overview.losses[:_ROWS],
            len(overview.losses),
            overview.refusals[:_ROWS],
            len(overview.refusals),
        ),
        "ways": part(
            "overview", "ways", overview.paths[:_ROWS], len(overview.paths), overview.left_out
        ),
        "hops": part("overview", "hops", overview.hops[:_ROWS], len(overview.hops)),
        **_charts(overview),
    }


def _read(store: Store, window: Window) -> Overview:
    return overview_of(read_overview(store, window))


def read_alarms(store: Store, window: Window) -> tuple[Alarm, ...]:
    """Return the current alarms, most severe first."""
    return Situation(store).alarms(window.now)


def _alarms(context: Context, address: Address) -> Content:
    never_read: tuple[Alarm, ...] | None = None
    alarms = context.figures.ask(read_alarms, Span(), never_read)
    if alarms is None:
        return part("overview", "no_alarms_known")
    known = context.network.known
    instances = frozenset(known.topology.instances) if known else frozenset[str]()
    shown = alarms[:_ALARMS]
    return part("overview", "alarms", shown, len(alarms), address, instances, context.now())


def _charts(overview: Overview) -> dict[str, Content]:
    series = {
        name: [getattr(each, name) for each in overview.quantiles] for name in ("p50", "p95", "p99")
    }
    causes = [cause for cause in Cause if cause in _USUAL or overview.duplicates[cause]]
    named = {cause.value: overview.duplicates_over_time[cause] for cause in causes}
    return {
        "rates": lines(
            overview.buckets, {"messages": overview.rates}, ("blue",), RATE_TEXT, area=True
        ),
        "latencies": lines(overview.buckets, series, ("q50", "q95", "q99"), DURATION_TEXT),
        "depths": lines(
            overview.sample_buckets, overview.depths, _LINES[: len(overview.depths)], COUNT_TEXT
        ),
        "duplicates": bars(
            overview.copy_buckets, named, tuple(_COLOURS[c] for c in causes), COUNT_TEXT
        ),
    }


OVERVIEW = Page("/", "Overview", "1", layout, view)
