"""Serve ``/metrics``, ``/healthz`` and ``/readyz`` of a process, in a separate thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from streams.errors import SurroundingsError, UsageError

_PLAIN = "text/plain; charset=utf-8"
Answer = tuple[int, str, bytes]
"""Status, content type and body."""
Answers = dict[str, Callable[[], Answer]]
"""Answers by path."""


def address_of(text: str) -> tuple[str, int]:
    """Parse HOST:PORT, or a port alone, on loopback; raise UsageError."""
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65_535:
        raise UsageError(
            f"'{text}' is not HOST:PORT.", "Write 9187, or 0.0.0.0:9187 for all hosts."
        )
    return host.strip("[]") or "127.0.0.1", int(port)


@contextmanager
def answering(address: str, answers: Answers) -> Iterator[int]:
    """Serve requests within the block; yield the port.

    Raises UsageError for an invalid address, SurroundingsError for an unavailable address.
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
        return ThreadingHTTPServer(where, handler)
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


class _Handler(BaseHTTPRequestHandler):
    timeout = 10.0
    answers: Answers

    def do_GET(self) -> None:
        """Answer a request."""
        path = self.path.partition("?")[0]
        answer = self.answers.get(path)
        known = f"There are {', '.join(self.answers)}.\n".encode()
        status, kind, body = (404, _PLAIN, known) if answer is None else answer()
        with suppress(ConnectionError):  # the client may have disconnected
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing, because periodic requests are of no interest."""
