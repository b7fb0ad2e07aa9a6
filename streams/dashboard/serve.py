"""Run the dashboard: a web server on one port, until it is interrupted."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI, Response
from nicegui import app, ui
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

from streams.dashboard.access import Access
from streams.dashboard.config import DashboardConfig
from streams.dashboard.context import Context
from streams.dashboard.figures import Figures
from streams.dashboard.frame import add_pages
from streams.dashboard.head import AT, FOLDER
from streams.dashboard.kafka_watch import KafkaWatch
from streams.dashboard.limited_server import LimitedServer
from streams.dashboard.metrics import Counts, figures_of
from streams.dashboard.network import network_of
from streams.dashboard.pages import PAGES
from streams.dashboard.pages.dialog import weight_of
from streams.dashboard.slow import Slow
from streams.errors import UsageError
from streams.store import Store
from streams.telemetry import CONTENT_TYPE, exposition_of

_TOPOLOGY_EVERY = 5.0
_ICON = (FOLDER / "icon.svg").read_text("utf-8")


def serve(config: DashboardConfig, say: Callable[[str], None] = lambda _: None) -> None:
    """Serve all pages until SIGINT or SIGTERM; ``say`` is called with the address.

    Raises UsageError without a store or if the port is taken, InputError if the folder of the
    topology is unreadable. Sources that fail later may recover.
    """
    with Store.look(config.store) as store, _listening(config) as listening:
        stop = threading.Event()
        network = network_of(config.topology, config.cluster)
        context = Context(
            Figures(store, _now, config.refresh),
            network,
            config.cluster,
            Slow(_now, weight_of),
            _now,
            KafkaWatch(config.cluster, _now),
        )
        if config.topology is not None:  # an unreadable folder must fail now
            network.begin()
        followers = (
            threading.Thread(
                target=network.follow, args=(stop, _TOPOLOGY_EVERY), name="topology", daemon=True
            ),
            threading.Thread(target=context.kafka.follow, args=(stop,), name="kafka", daemon=True),
        )
        # This is not done earlier, because NiceGUI inspects all objects when it starts. A tuple
        # that another thread is creating from a generator could then not be finished (SystemError).
        for follower in followers:
            app.on_startup(follower.start)
        try:
            say(address_of(config, listening.getsockname()[1]))
            _server(config, context).run(sockets=[listening])
        finally:
            stop.set()


def application(config: DashboardConfig, context: Context) -> Access:
    """Return the whole application with its access control."""
    served = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    served.mount(AT, StaticFiles(directory=FOLDER))
    counts = Counts()
    add_pages(context, tuple(map(counts.watched, PAGES)), config.refresh)
    metrics = exposition_of(lambda: figures_of(context, counts))
    served.add_route(
        "/metrics", lambda _: Response(metrics(), headers={"content-type": CONTENT_TYPE})
    )
    ui.run_with(
        served,
        title="Hopline",
        favicon=_ICON,
        tailwind=False,
        language="en-US",
        reconnect_timeout=10.0,
        show_welcome_message=False,
        # On the same machine, compression only costs time.
        gzip_middleware_factory=None if config.local else GZipMiddleware,
    )
    return Access(served, config.token, {socket.gethostname()} if config.published else ())


def address_of(config: DashboardConfig, port: int) -> str:
    """Return the URL for a browser, including the token."""
    host, port = config.published or (config.host, port)
    host = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{port}/" + (f"?token={config.token}" if config.token else "")


def _server(config: DashboardConfig, context: Context) -> LimitedServer:
    settings = uvicorn.Config(
        application(config, context), log_level="warning", access_log=False, lifespan="on",
        timeout_graceful_shutdown=1, server_header=False,
    )  # fmt: skip
    return LimitedServer(settings)


def _listening(config: DashboardConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        return socket.create_server((config.host, config.port), family=family, backlog=128)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise UsageError(
            f"Cannot listen on {config.host}:{config.port}: {why}.",
            "Choose another port with --port; 0 selects a free port.",
        ) from error


def _now() -> int:
    return time.time_ns() // 1_000_000
