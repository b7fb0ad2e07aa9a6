"""Serve ``/metrics``, ``/healthz`` and ``/readyz`` of a process, in a separate thread."""

from __future__ import annotations

import http.client
import io
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from streams.errors import SurroundingsError, UsageError

log = logging.getLogger("hopline.http")

AT_ONCE = 16
"""Maximum number of connections at a time, each with its own thread.

A further connection replaces the oldest connection whose request is incomplete. If all requests are
complete and being answered, the further connection gets status 503.
"""
HEAD_BYTES = 16_384
"""Maximum number of bytes of a request's headers, including the request line.

The dashboard has the same limit for its headers: Python's parsers may need quadratic time, or
hundreds of bytes of memory for each header.
"""
READ_WITHIN = 10.0
"""Seconds within which a request must arrive completely."""
_BUSY = b"HTTP/1.0 503 Too many requests at a time\r\nContent-Length: 0\r\n\r\n"
_PLAIN = "text/plain; charset=utf-8"
Answer = tuple[int, str, bytes]
"""Status, content type and body."""
Answers = dict[str, Callable[[], Answer]]
"""Answers by path."""


def address_of(text: str) -> tuple[str, int]:
    """Parse HOST:PORT, or a port alone (on loopback); raise UsageError for other texts."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise UsageError(
            f"'{text}' is not HOST:PORT.",
            "Write 9187, or 0.0.0.0:9187 to listen on all addresses.",
        )
    return host.strip("[]") or "127.0.0.1", int(port)


@contextmanager
def answering(address: str, answers: Answers) -> Iterator[int]:
    """Serve requests within the block; yield the port.

    Raises UsageError for an invalid address, and SurroundingsError for an unavailable one.
    """
    server = _server(address_of(address), answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="http", daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def _server(where: tuple[str, int], answers: Answers) -> ThreadingHTTPServer:
    handler = type("Handler", (_Handler,), {"answers": answers})
    try:
        return _Server(where, handler)
    except OSError as error:
        host, port = where
        raise SurroundingsError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}.",
            "Choose another address with --http.",
        ) from error


def health_answer(sentences: Iterable[str]) -> Answer:
    """Return ``ok``, or 503 with the problems."""
    problems = list(sentences)
    body = "".join(f"{line}\n" for line in problems) or "ok\n"
    return (503 if problems else 200), _PLAIN, body.encode()


class _Server(ThreadingHTTPServer):
    """A server with at most :data:`AT_ONCE` connections; requests must arrive by a deadline."""

    def __init__(self, *where: Any) -> None:
        self._connections = set[Any]()
        self._deadlines: dict[Any, float] = {}  # of incomplete requests, oldest first
        super().__init__(*where)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a request, or refuse the request."""
        if len(self._connections) >= AT_ONCE and not self._close_oldest():
            _refuse(request)
            self.shutdown_request(request)
            return
        self._connections.add(request)
        self._deadlines[request] = time.monotonic() + READ_WITHIN
        super().process_request(request, client_address)

    def _close_oldest(self) -> bool:
        """Close the oldest connection whose request is incomplete; return whether there is one."""
        for request in list(self._deadlines)[:1]:
            self.request_arrived(request)
            self._connections.discard(request)
            _refuse(request)
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)  # its thread then ends
            return True
        return False

    def request_arrived(self, request: Any) -> None:
        """Remove the deadline of a complete request; answering it can take any time."""
        self._deadlines.pop(request, None)

    def close_request(self, request: Any) -> None:
        """Close the connection of a request that has ended."""
        self.request_arrived(request)
        self._connections.discard(request)
        super().close_request(request)

    def service_actions(self) -> None:
        """Stop reading requests that are late; the server calls this periodically."""
        for request, deadline in list(self._deadlines.items()):
            if deadline < time.monotonic():
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RD)


def _refuse(request: Any) -> None:
    with suppress(OSError):
        request.sendall(_BUSY)


class _Head(io.BufferedReader):
    """A connection from which only a request line and headers are read, up to a limit.

    Python would accept 6.5 MB, and treat a CR within a line as the end of a header.
    """

    def __init__(self, raw: io.RawIOBase) -> None:
        super().__init__(raw)
        self._room = HEAD_BYTES

    def readline(self, size: int | None = -1, /) -> bytes:
        """Return a line; raise HTTPException if there are too many bytes, or CRs within it."""
        line = super().readline(self._room + 1)
        self._room -= len(line)
        if self._room < 0:
            raise http.client.HTTPException(f"more than {HEAD_BYTES:,} bytes")
        if b"\r" in line.removesuffix(b"\n").removesuffix(b"\r"):
            raise http.client.HTTPException("a CR without LF")
        return line


class _Handler(BaseHTTPRequestHandler):
    timeout = 10.0  # for each read, and for the whole answer
    answers: Answers
    server: _Server
    requestline = command = request_version = ""

    def setup(self) -> None:
        """Limit what is read from the connection."""
        super().setup()
        self.rfile = _Head(self.rfile.detach())

    def handle(self) -> None:
        """Handle a request; the client can disconnect at any time."""
        with suppress(OSError):
            try:
                super().handle()
            except http.client.HTTPException as error:  # of the request line
                self.send_error(431, explain=str(error))

    def do_GET(self) -> None:
        """Answer a request."""
        self.server.request_arrived(self.connection)
        path = self.path.partition("?")[0]
        answer = self.answers.get(path)
        known = f"There are {', '.join(self.answers)}.\n".encode()
        try:
            status, kind, body = (404, _PLAIN, known) if answer is None else answer()
        except Exception as error:
            log.exception("%s failed", path)
            status, kind, body = 500, _PLAIN, f"{type(error).__name__}; see the log.\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Do not log anything, because periodic requests are not of interest."""
