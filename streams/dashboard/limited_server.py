"""The dashboard's web server: uvicorn, with a limit of connections and a deadline for requests."""

from __future__ import annotations

import time
from typing import Any

import uvicorn

AT_ONCE = 500
"""Maximum number of connections; additional requests get status 503. A browser opens up to
seven."""
IDLE_FOR = 10.0
"""Seconds after which a connection without a complete request is closed."""


class LimitedServer(uvicorn.Server):
    """A server that, unlike uvicorn, limits connections and closes those without a request."""

    def __init__(self, config: uvicorn.Config) -> None:
        config.limit_concurrency = AT_ONCE
        config.http = "h11"  # httptools accepts headers of any size, before access is checked
        super().__init__(config)
        self._since: dict[Any, float] = {}

    async def on_tick(self, counter: int) -> bool:
        """Close connections without a request; the server calls this ten times a second."""
        now, idle = time.monotonic(), filter(self._is_idle, self.server_state.connections)
        self._since = {connection: self._since.get(connection, now) for connection in idle}
        for connection, since in self._since.items():
            if now - since > IDLE_FOR:
                connection.transport.close()
        return await super().on_tick(counter)

    def _is_idle(self, connection: Any) -> bool:
        # A WebSocket has no request, and lasts as long as its page.
        is_http = isinstance(connection, self.config.http_protocol_class)
        return is_http and (connection.cycle is None or connection.cycle.response_complete)
