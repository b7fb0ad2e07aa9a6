"""Fuzz what a browser may ask the dashboard for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from streams.dashboard.address import Address
from streams.resources import topologies_dir
from tests.fuzz.mutate import joined, parts_of
from tests.fuzz.target import (
    Target,
    folder,
)

# --- the dashboard -------------------------------------------------------------------------------


def _address(data: bytes) -> None:
    """Show every page at an address; an address is what anybody may type."""
    address = Address.of(data.decode("utf-8", "surrogateescape").replace("\n", ""))
    str(address).encode("utf-8", "surrogateescape"), address.span.words, address.span.bounds(NOW_MS)
    for page in _pages():
        page(replace(address, path=address.path or "/"))


NOW_MS = 1_800_000_000_000


@cache
def _pages() -> tuple[Callable[[Address], object], ...]:
    from functools import partial

    from streams.dashboard.context import Context
    from streams.dashboard.figures import Figures
    from streams.dashboard.header import header_of
    from streams.dashboard.network import network_of
    from streams.dashboard.pages import PAGES
    from streams.dashboard.slow import Slow
    from streams.store import Store
    from streams.store.freshness import QUERIES
    from tests.dashboard.rows import ROWS, UNTIL

    url = f"sqlite:///{folder()}/monitor.sqlite"
    with Store.open(url) as store:
        store.write("deliveries", "run", 0, ROWS)
        store.reach(dict.fromkeys(QUERIES, UNTIL))
    looked = Store.look(url).__enter__()
    network = network_of(topologies_dir() / "combined", None)
    network.begin()
    now = lambda: NOW_MS  # noqa: E731
    context = Context(Figures(looked, now, 0), network, None, Slow(now, lambda _: 1), now)
    views = [partial(page.view, context) for page in PAGES]
    headers = [partial(header_of, context, PAGES, page) for page in PAGES]
    return (*views, *headers)


def _addresses() -> list[bytes]:
    return [
        b"/?last=5m", b"/?from=2026-11-21T13%3A27%3A00Z&until=2026-11-21T13%3A32%3A00Z",
        b"/topology?find=Server&show=trouble&around=2&instance=ServerA&view=sys.routes",
        b"/topology?link=ServerA>GatewayA&ask=ServerA/DatabaseA/InitiatorService&to=TargetService",
        b"/dialog?id=6f1c2e6a-0c1d-4e5f-8a9b-0123456789ab&page=2&row=3&list=longest",
        b"http://127.0.0.1:8090/dialog/6f1c2e6a?from=0001-01-01T00:00:00Z&until=9999-12-31",
    ]  # fmt: skip


def _request(data: bytes) -> None:
    """Ask the dashboard for a page: query, path and headers are the request's."""
    from tests.dashboard.test_access import ask

    query, path, host, origin, cookie, *_ = (*parts_of(data), b"", b"", b"", b"", b"")
    said = {"host": host, "origin": origin, "cookie": cookie}
    headers = {n: v.decode("latin-1").encode("utf-8", "replace").decode() for n, v in said.items()}
    told = ask(
        "token", query=query.decode("latin-1"), path=path.decode("utf-8", "replace"), **headers
    )
    assert told["status"] in (200, 303, 401, 403, 431)


def _requests() -> list[bytes]:
    hosts = (b"127.0.0.1:8090", b"", b"hopline_token=token; a=b")
    return [joined([b"token=token&last=5m", b"/topology", *hosts]), joined([b"", b"/", *hosts])]


TARGETS: Mapping[str, Target] = {
    "dashboard_address": Target(_addresses, _address),
    "dashboard_request": Target(_requests, _request),
}  # fmt: skip
