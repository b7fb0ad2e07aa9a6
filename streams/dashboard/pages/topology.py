"""Topology: links with rates and problems, and predicted paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from streams.dashboard.address import Address
from streams.dashboard.context import Context
from streams.dashboard.figures import Trouble, Window
from streams.dashboard.model.answer import Where, senders_of, services_of, where_to
from streams.dashboard.model.charts import DURATION_TEXT, lines
from streams.dashboard.model.curves import Curve, curve
from streams.dashboard.model.graph import Edge, Filter, Graph, Show, graph_of
from streams.dashboard.model.topology import (
    Found,
    instance_detail,
    known_of,
    link_detail,
    read_found,
    read_legs,
    read_near,
    read_to,
    routes_between,
)
from streams.dashboard.network import Known
from streams.dashboard.page import Content, Page, Places
from streams.dashboard.slow import CachedResult
from streams.dashboard.span import Span
from streams.dashboard.template import part
from streams.dashboard.views import OF_CATALOG, SHOWN, Table, read_view
from streams.errors import HoplineError
from streams.store import LatencyWindow, Link

Side = tuple[str, bool]
"""An instance, and whether a link ends at the instance's right side."""
_LABELS = 16
"""The maximum number of links with readable rate labels."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A link in the picture."""

    edge: Edge
    curve: Curve
    to: str
    chosen: bool
    label: bool
    leg: str


def layout(places: Places) -> None:
    """Create the places of the page."""
    places.html("filters", "panel bar")
    with places.group("two-thirds stack"):
        places.html("graph", "panel graph")
        places.html("answer", "panel answer")
        places.chart("link_chart", "Latency of the link", "between the two instances")
        places.html("views", "panel")
    places.html("side", "panel third side")


def view(context: Context, address: Address) -> Mapping[str, Content]:
    """Return the content of the places."""
    found = context.figures.ask(read_found, address.span, Found())
    topology = context.network.known
    where = _where(topology, address)
    known = known_of(found, topology)
    graph = graph_of(known, filter_of(address), _chosen(address, where))
    near = _near(context, address)
    link = _link((*near, *known.links), address)
    return {
        "filters": part("topology", "filters", address, filter_of(address), Show),
        "graph": _graph(graph, address, where),
        "answer": part("topology", "answer", where) if where else None,
        "side": _side(context, address, found, near, link),
        "link_chart": _link_chart(context, address, link),
        "views": _views(context, address),
    }


def filter_of(address: Address) -> Filter:
    """Parse the filter."""
    shown = {show.value: show for show in Show}.get(address.get("show"), Show.ALL)
    around = address.get("around")
    return Filter(address.get("find"), shown, int(around) if around in ("1", "2", "3") else 0)


def _where(topology: Known | None, address: Address) -> Where | None:
    if topology is None or not (address.get("ask") and address.get("to")):
        return None
    return where_to(topology.questions, address.get("ask"), address.get("to"))


def _chosen(address: Address, where: Where | None) -> set[str]:
    named = {address.get("instance"), *address.get("link").split(">")} - {""}
    return named | (where.instances if where else set())


def _near(context: Context, address: Address) -> tuple[Link, ...]:
    """Return the links of the chosen instance, with their latencies."""
    name = address.get("instance") or address.get("link").partition(">")[0]
    none: tuple[Link, ...] = ()
    return context.figures.ask(read_near, address.span, none, name) if name else none


def _link(links: Sequence[Link], address: Address) -> Link | None:
    one, _, other = address.get("link").partition(">")
    return next((k for k in links if (k.instance, k.other) == (one, other)), None)


def _graph(graph: Graph, address: Address, where: Where | None) -> Markup:
    at = {node.name: (node.x, node.y) for node in graph.nodes}
    labels = sum(edge.link.count > 0 for edge in graph.edges) <= _LABELS
    crowd = Counter(side for edge in graph.edges for side in _sides(edge, at))
    drawn = [
        Drawn(
            edge,
            curve(
                at[edge.link.instance],
                at[edge.link.other],
                label=_label(crowd, *_sides(edge, at)),
            ),
            str(address.with_(link=edge.name, instance="", view="")),
            address.get("link") == edge.name,
            labels and edge.link.count > 0,
            _leg(edge, where),
        )
        for edge in graph.edges
    ]
    ordered = sorted(drawn, key=lambda d: (d.chosen, bool(d.leg), d.edge.link.rate))
    on_path = where.instances if where else frozenset()
    return part("topology", "graph", graph, ordered, address, on_path)


def _sides(edge: Edge, at: Mapping[str, tuple[float, float]]) -> tuple[Side, Side]:
    """Return the sides of the boxes at which a link begins and ends."""
    right = at[edge.link.other][0] > at[edge.link.instance][0]
    return (edge.link.instance, right), (edge.link.other, not right)


def _label(crowd: Mapping[Side, int], start: Side, end: Side) -> float:
    """Return a label's position: near the end with fewer links, so that labels do not overlap."""
    return 0.76 if crowd[start] > crowd[end] else 0.24


def _leg(edge: Edge, where: Where | None) -> str:
    if where is None:
        return ""
    pair = (edge.link.instance, edge.link.other)
    return "there" if pair in where.there else "back" if pair in where.back else ""


def _side(
    context: Context, address: Address, found: Found, near: Sequence[Link], link: Link | None
) -> Markup:
    topology = context.network.known
    ask = part(
        "topology",
        "ask",
        address,
        senders_of(topology.questions) if topology else (),
        services_of(topology.questions) if topology else (),
    )
    if address.get("instance"):
        detail = instance_detail(address.get("instance"), found, near, topology)
        return ask + part("topology", "instance", detail, address, context.now())
    if link is not None:
        routes = routes_between(link.instance, link.other, topology)
        return ask + part("topology", "link", link, routes, address)
    return ask + part("topology", "nothing", topology is not None)


def _link_chart(context: Context, address: Address, link: Link | None) -> Content:
    if link is None:
        return None
    none: tuple[LatencyWindow, ...] = ()
    legs = context.figures.ask(read_legs, address.span, none, link.instance)
    known_to = context.figures.ask(read_to, Span(), 0)
    detail = link_detail(link, legs, Window.of(address.span, context.now()), known_to)
    series = {
        name: [getattr(each, name) for each in detail.quantiles] for name in ("p50", "p95", "p99")
    }
    return lines(detail.buckets, series, ("q50", "q95", "q99"), DURATION_TEXT)


def _views(context: Context, address: Address) -> Content:
    name, topology = address.get("instance"), context.network.known
    if not name or topology is None or name not in topology.topology.instances:
        return None
    wanted = address.get("view") if address.get("view") in SHOWN else "sys.routes"
    answer = _table(context, topology, name, wanted)
    return part("topology", "views", name, SHOWN, wanted, answer, address)


def _table(context: Context, topology: Known, instance: str, view: str) -> CachedResult[Table]:
    cluster, now = context.cluster, context.now()
    if view in OF_CATALOG:
        try:
            return CachedResult(read_view(view, instance, topology.topology, None, now))
        except HoplineError as error:
            return CachedResult(trouble=Trouble(now, error.message))
    if cluster is None:
        why = "This view reads Kafka; give the cluster with --bootstrap."
        return CachedResult(trouble=Trouble(now, why))
    return context.slow.get(
        ("view", instance, view),
        lambda: read_view(view, instance, topology.topology, cluster, context.now()),
    )


TOPOLOGY = Page("/topology", "Topology", "2", layout, view)
