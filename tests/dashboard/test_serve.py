"""The command: what it refuses, who may look, and what happens while the store is away."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nicegui
import pytest
import uvicorn
from playwright.sync_api import expect

from streams.dashboard import limited_server
from streams.dashboard.limited_server import LimitedServer
from streams.store import Store
from tests.dashboard.rows import AT, ROWS
from tests.dashboard.served import Seen, serving
from tests.running import DEADLINE, eventually


def refused(*options: str) -> str:
    """Return the error of a command that refuses, on one line."""
    command = [sys.executable, "-m", "streams", "dashboard", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    return " ".join(done.stderr.split())


@pytest.mark.long
def test_without_a_store_the_error_names_the_monitor(tmp_path: Path) -> None:
    error = refused("--store", f"sqlite:///{tmp_path}/none.sqlite")
    assert "There is no store" in error
    assert "hopline monitor" in error
    assert "is not a store URL" in refused("--store", "nonsense")


@pytest.mark.long
def test_a_port_in_use_is_reported(small: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = refused("--store", small, "--port", str(port))
    assert f"Cannot listen on 127.0.0.1:{port}: Address already in use." in error
    assert "--port" in error


@pytest.mark.long
def test_an_invalid_topology_is_reported(small: str, tmp_path: Path) -> None:
    assert "There is no folder or shipped topology 'nowhere'" in refused(
        "--store", small, "--topology", "nowhere"
    )
    assert str(tmp_path / "gone") in refused("--store", small, "--topology", str(tmp_path / "gone"))


@pytest.mark.long
def test_where_others_can_connect_a_token_is_asked_for(
    seen: Seen, small: str, tmp_path: Path
) -> None:
    with serving("--store", small, "--host", "0.0.0.0", log=tmp_path / "log") as address:
        base, _, token = address.partition("/?token=")
        assert len(token) > 20
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(base)
        seen.page.goto(f"{address}&{AT}")
        expect(seen.page.locator("#tile-messages")).to_contain_text("2,000 delivered")
        assert token not in seen.page.url
        assert seen.complaints == []


PATHS = (
    "/",
    "/topology",
    "/dialog",
    "/dialog/5d1c0a7b-e2f0-4c11-8000-000000000000",
    "/metrics",
    "/static/dashboard.js",
    "/static/dashboard.css",
    f"/_nicegui/{nicegui.__version__}/static/nicegui.css",
    f"/_nicegui/{nicegui.__version__}/static/socket.io.min.js",
    "/_nicegui_ws/socket.io/?EIO=4&transport=polling",
    "/favicon.ico",
    "/no-such-page",
)
"""A path of each kind that the dashboard serves, and one that it does not."""
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


def status_of(base: str, path: str, **headers: str) -> int:
    """Return the status of a GET request, without following a redirect."""
    connection = http.client.HTTPConnection(urlsplit(base).netloc, timeout=DEADLINE)
    try:
        connection.request("GET", path, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.long
def test_every_path_asks_for_the_token(small: str, tmp_path: Path) -> None:
    """Also the metrics, the static files, NiceGUI's own paths and the websocket."""
    with serving("--store", small, "--host", "0.0.0.0", log=tmp_path / "log") as address:
        base, _, token = address.partition("/?token=")
        right, wrong = {"Authorization": f"Bearer {token}"}, {"Cookie": "hopline_token=wrong"}
        for path in PATHS:
            expected = 404 if path == "/no-such-page" else 200
            assert status_of(base, path) == 401, path
            assert status_of(base, path, **wrong) == 401, path
            assert status_of(base, path, **right) == expected, path
        socket_path = "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        assert status_of(base, socket_path, **UPGRADE) == 403
        assert status_of(base, socket_path, **UPGRADE, **wrong) == 403
        assert status_of(base, socket_path, **UPGRADE, **right) == 101


def test_where_a_port_is_published_on_loopback_no_token_is_asked_for(
    small: str, tmp_path: Path
) -> None:
    where = ("--host", "0.0.0.0", "--port", "0", "--published", "127.0.0.1:4711")
    with serving("--store", small, *where, log=tmp_path / "log") as address:
        assert address == "http://127.0.0.1:4711"


@pytest.mark.long
def test_a_store_goes_away_and_comes_back(seen: Seen, tmp_path: Path) -> None:
    file = tmp_path / "monitor.sqlite"
    url = f"sqlite:///{file}"
    with Store.open(url) as store:
        store.write("deliveries", "run", 0, ROWS)
    with serving("--store", url, log=tmp_path / "log") as address:
        seen.page.goto(f"{address}/?{AT}")
        tile, banner = seen.page.locator("#tile-messages"), seen.page.locator("[data-place=banner]")
        expect(tile).to_contain_text("2,000 delivered")
        away = file.rename(tmp_path / "away")
        expect(banner).to_contain_text("The store has been unreadable since")
        expect(tile).to_contain_text("2,000 delivered")
        away.rename(file)
        expect(banner).not_to_contain_text("cannot be read")
        with Store.open(url) as store:
            store.write("deliveries", "run", 1, [*ROWS[:4]])
        expect(tile).to_contain_text("2,000 delivered")
        assert seen.complaints == []


@pytest.mark.long
def test_without_a_topology_the_traffic_shows_who_there_is(
    seen: Seen, small: str, tmp_path: Path
) -> None:
    with serving("--store", small, log=tmp_path / "log") as address:
        seen.page.goto(f"{address}/topology?{AT}")
        expect(seen.page.locator(".node")).to_have_count(5)
        expect(seen.page.locator(".ask")).to_have_count(0)
        seen.page.locator("#node-GatewayB").click()
        expect(seen.page.locator("#instance-detail")).to_contain_text("no heartbeat")
        expect(seen.page.locator("[data-place=views]")).to_be_hidden()


async def greet(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


@contextmanager
def listening(**options: Any) -> Iterator[int]:
    """Run the dashboard's server with another application; yield the port."""
    config = uvicorn.Config(greet, log_level="warning", lifespan="off", **options)
    with socket.create_server(("127.0.0.1", 0)) as server_socket:
        server = LimitedServer(config)
        thread = threading.Thread(target=server.run, args=([server_socket],), daemon=True)
        thread.start()
        try:
            yield server_socket.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(DEADLINE)


def test_a_connection_without_a_complete_request_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limited_server, "IDLE_FOR", 0.2)
    with (
        listening(timeout_keep_alive=1_000) as port,
        socket.create_connection(("127.0.0.1", port), DEADLINE) as slow,
    ):
        slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        read = b""
        while not read.endswith(b"here\r\n0\r\n\r\n"):
            read += slow.recv(1_000)
        slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        slow.settimeout(0.02)

        def closed() -> bool:
            try:
                slow.sendall(b"x")
                return not slow.recv(1_000)
            except TimeoutError:
                return False
            except ConnectionError:
                return True

        eventually(closed, "it is closed")


def test_requests_beyond_the_limit_of_connections_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limited_server, "AT_ONCE", 2)
    with listening() as port, socket.create_connection(("127.0.0.1", port), DEADLINE):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=DEADLINE)
        caught.value.close()
        assert caught.value.code == 503


def test_a_header_that_does_not_end_is_refused() -> None:
    """Otherwise, anyone who can connect could let the memory grow."""
    with listening() as port, socket.create_connection(("127.0.0.1", port), DEADLINE) as endless:
        endless.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000)
        assert endless.recv(1_000).startswith(b"HTTP/1.1 400 ")
