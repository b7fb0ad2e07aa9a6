"""Who may look: nobody's page but ours, and who knows the token where others can connect."""

from __future__ import annotations

import time
from collections.abc import MutableMapping
from typing import Any

import pytest

from streams.dashboard.access import Access
from streams.dashboard.config import DashboardConfig, is_loopback
from streams.telemetry import HEAD_BYTES

TOKEN = "s3cret"


async def _inside(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})


def ask(
    token: str | None,
    *names: str,
    kind: str = "http",
    query: str = "",
    path: str = "/",
    scheme: str = "http",
    **headers: str,
) -> MutableMapping[str, Any]:
    """Return what a request is answered; ``names``: what the machine is called."""
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    async def receive() -> MutableMapping[str, Any]:
        return {}

    fields = {"host": "127.0.0.1:8090", **headers}
    scope = {
        "type": kind,
        "path": path,
        "scheme": scheme,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
    }
    answering = Access(_inside, token, names)(scope, receive, send)
    with pytest.raises(StopIteration):  # nothing in it waits, so no event loop is needed
        answering.send(None)  # type: ignore[attr-defined]
    return sent[0]


@pytest.mark.parametrize("host", ["127.0.0.1:8090", "localhost:8090", "[::1]:8090", "127.3.2.1"])
def test_on_loopback_nothing_is_asked_for(host: str) -> None:
    assert ask(None, host=host)["status"] == 200


@pytest.mark.parametrize("host", ["evil.example:8090", "127.0.0.1.evil.example", "", "10.0.0.1"])
def test_a_strange_name_that_leads_to_loopback_is_refused(host: str) -> None:
    assert ask(None, host=host)["status"] == 403


def test_neighbours_call_a_container_by_its_name_and_nobody_else_does() -> None:
    assert ask(None, "dashboard", host="dashboard:8090")["status"] == 200
    assert ask(None, "dashboard", host="dashboard.evil.example:8090")["status"] == 403
    assert ask(None, "dashboard", host="dashboard:8090", origin="http://evil")["status"] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999"])
def test_a_page_of_another_origin_opens_no_websocket(origin: str) -> None:
    refused = ask(None, kind="websocket", origin=origin)
    assert refused == {"type": "websocket.close", "code": 1008}
    assert ask(TOKEN, origin=origin, cookie=f"hopline_token={TOKEN}")["status"] == 403
    assert ask(None, origin="http://127.0.0.1:8090")["status"] == 200


def fetch(site: str, dest: str) -> dict[str, str]:
    return {"sec-fetch-site": site, "sec-fetch-dest": dest}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("dest", ["image", "script", "iframe", "empty", "object", ""])
def test_a_page_of_another_origin_loads_nothing(site: str, dest: str) -> None:
    """An image with the address of a dialog's page made the dashboard read topics."""
    assert ask(None, **fetch(site, dest))["status"] == 403
    assert ask(TOKEN, cookie=f"hopline_token={TOKEN}", **fetch(site, dest))["status"] == 403
    assert ask(None, **{"sec-fetch-site": site})["status"] == 403
    assert ask(None, kind="websocket", **fetch(site, "websocket"))["type"] == "websocket.close"


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_link_from_another_page_is_followed(site: str) -> None:
    assert ask(None, **fetch(site, "document"))["status"] == 200
    assert ask(TOKEN, query=f"token={TOKEN}", **fetch(site, "document"))["status"] == 303


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_dashboards_own_pages_load_everything(site: str) -> None:
    for dest in ("script", "image", "empty", "document"):
        assert ask(None, **fetch(site, dest))["status"] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"cookie": "hopline_token=other"},
        {"cookie": "hopline_token="},
        {"authorization": "Bearer other"},
        {"authorization": f"Basic {TOKEN}"},
    ],
)
def test_who_does_not_know_the_token_sees_nothing(headers: dict[str, str]) -> None:
    assert ask(TOKEN, host="monitor.example", **headers)["status"] == 401
    assert ask(TOKEN, kind="websocket", host="m.example", **headers)["type"] == "websocket.close"
    assert ask(TOKEN, host="monitor.example", query="token=other", **headers)["status"] == 401


@pytest.mark.parametrize(
    "headers",
    [{"cookie": f"a=b; hopline_token={TOKEN}"}, {"authorization": f"bearer {TOKEN}"}],
)
def test_who_knows_it_sees_everything(headers: dict[str, str]) -> None:
    assert ask(TOKEN, host="monitor.example", **headers)["status"] == 200


def test_the_token_of_an_address_goes_into_a_cookie_and_out_of_the_address() -> None:
    answer = ask(TOKEN, host="m.example", path="//evil.example/x", query=f"last=1h&token={TOKEN}")
    headers = dict(answer["headers"])
    assert answer["status"] == 303
    assert headers[b"location"] == b"/evil.example/x?last=1h"
    assert headers[b"set-cookie"].startswith(f"hopline_token={TOKEN}; ".encode())
    assert b"HttpOnly" in headers[b"set-cookie"]


HOSTS = [("127.0.0.1", True), ("::1", True), ("LocalHost", True), ("0.0.0.0", False), ("::", False)]


@pytest.mark.parametrize(("host", "local"), HOSTS)
def test_the_published_address_decides_who_can_connect(host: str, local: bool) -> None:
    assert DashboardConfig(host="0.0.0.0", published=(host, 8090)).local is local
    assert DashboardConfig(host=host).local is local


@pytest.mark.parametrize(("host", "local"), HOSTS)
def test_what_loopback_is(host: str, local: bool) -> None:
    assert is_loopback(host) is local


@pytest.mark.parametrize("odd", [{"host": "["}, {"host": "[::1"}, {"origin": "http://["}])
def test_a_bracket_that_nobody_closes_is_a_strange_name(odd: dict[str, str]) -> None:
    assert ask(None, **odd)["status"] == 403
    assert ask(TOKEN, query=f"token={TOKEN}", **odd)["status"] == 403


def test_the_link_to_a_page_with_any_name_is_a_valid_address() -> None:
    answer = ask(TOKEN, query=f"token={TOKEN}", path="/\u20ac")
    assert (answer["status"], dict(answer["headers"])[b"location"]) == (303, b"/%E2%82%AC")


def test_a_cookie_that_is_none_shows_nothing() -> None:
    assert ask(TOKEN, cookie="a[]=\x00;=;hopline_token")["status"] == 401


def test_headers_of_any_kind_are_limited_before_they_are_parsed() -> None:
    """Python 3.11.7 takes 13 s for a cookie of 60 kB that consists of escaped quotes."""
    cookie = 'a="' + '\\"' * (HEAD_BYTES // 2)
    for token in (None, TOKEN):
        assert ask(token, cookie=cookie)["status"] == 431
        assert ask(token, kind="websocket", cookie=cookie)["type"] == "websocket.close"
        assert ask(token, **{f"x-{n}": "" for n in range(HEAD_BYTES // 4)})["status"] == 431


def test_a_cookie_of_escaped_quotes_is_parsed_in_linear_time() -> None:
    """Other applications on the same host may set cookies."""
    cookie = 'a="' + '\\"' * 8_000 + f'"; hopline_token={TOKEN}'
    started = time.thread_time()
    assert [ask(TOKEN, cookie=cookie)["status"] for _ in range(20)] == [200] * 20
    assert time.thread_time() - started < 5


@pytest.mark.parametrize("query", ["", f"token={TOKEN}"])
@pytest.mark.parametrize("token", [None, TOKEN])
@pytest.mark.parametrize("host", ["127.0.0.1", "evil.example"])
def test_every_answer_has_security_headers(token: str | None, host: str, query: str) -> None:
    fields = dict(ask(token, host=host, query=query)["headers"])
    assert b"frame-ancestors 'none'" in fields[b"content-security-policy"]
    assert b"default-src 'self'" in fields[b"content-security-policy"]
    assert fields[b"x-content-type-options"] == b"nosniff"


@pytest.mark.parametrize(("scheme", "secure"), [("http", False), ("https", True)])
def test_behind_tls_the_cookie_is_for_tls(scheme: str, secure: bool) -> None:
    answer = ask(TOKEN, query=f"token={TOKEN}", scheme=scheme)
    assert (b"; Secure" in dict(answer["headers"])[b"set-cookie"]) is secure
