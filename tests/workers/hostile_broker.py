"""A broker that answers what it wants: metadata with any names, and any number, of brokers."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

_METADATA, _PRODUCER_ID, _VERSIONS = 3, 22, 18
_APIS = (
    (_VERSIONS, 0, 0), (_METADATA, 0, 1), (_PRODUCER_ID, 0, 1),
    (0, 3, 7), (1, 4, 11), (2, 1, 2), (10, 0, 1),
)  # fmt: skip
"""What it can answer, or clients demand to be there: the number of a request, and versions."""


@dataclass
class HostileBroker:
    """Its address, the names of the other brokers that it reports, and what it has answered."""

    listener: socket.socket
    topic: bytes
    hosts: tuple[bytes, ...]
    answers: int = 0

    @property
    def address(self) -> str:
        """Return where it listens."""
        return f"127.0.0.1:{self._port}"

    @property
    def _port(self) -> int:
        return int(self.listener.getsockname()[1])

    def accept(self) -> None:
        """Serve each connection in a thread."""
        with suppress(OSError):  # the test has ended
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError, struct.error), client, client.makefile("rb") as requests:
            while True:
                (size,) = struct.unpack(">i", requests.read(4))
                api, version, number = struct.unpack(">hhi", requests.read(size)[:8])
                body = self._answer(api, version)
                client.sendall(struct.pack(">ii", len(body) + 4, number) + body)

    def _answer(self, api: int, version: int) -> bytes:
        if api == _VERSIONS:
            apis = b"".join(struct.pack(">hhh", *each) for each in _APIS)
            return struct.pack(">hi", 35 if version else 0, len(_APIS)) + apis
        if api == _PRODUCER_ID:
            return struct.pack(">ihqh", 0, 0, 4711, 0)
        if api != _METADATA:
            raise OSError("not answered")
        self.answers += 1
        rack = struct.pack(">h", -1) if version else b""
        addresses = [(b"127.0.0.1", self._port), *((host, 9) for host in self.hosts)]
        brokers = b"".join(
            struct.pack(">i", n) + _text(host) + struct.pack(">i", port) + rack
            for n, (host, port) in enumerate(addresses, 1)
        )
        partition = struct.pack(">ihiiiiii", 1, 0, 0, 2, 1, 2, 1, 2)
        topic = struct.pack(">h", 0) + _text(self.topic) + (b"\0" if version else b"") + partition
        controller = struct.pack(">i", 2) if version else b""
        size = struct.pack(">i", len(addresses))
        return size + brokers + controller + struct.pack(">i", 1) + topic


def _text(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


@contextmanager
def hostile_broker(topic: str, *hosts: bytes) -> Iterator[HostileBroker]:
    """Serve as the only broker that responds; the leader of ``topic`` is the first of ``hosts``."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        broker = HostileBroker(listener, topic.encode(), hosts)
        threading.Thread(target=broker.accept, daemon=True).start()
        try:
            yield broker
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
