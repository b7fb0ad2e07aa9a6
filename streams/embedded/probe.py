"""Check whether a Kafka broker listens on a port, and to which cluster it belongs.

The check is one Metadata request in Kafka's own protocol (key 3, version 4). This layer does not
use the Kafka client, and merely connecting would not distinguish a broker from another program.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass

HOST = "127.0.0.1"
_CLIENT = b"hopline"
_REQUEST = (
    struct.pack(">hhih", 3, 4, 1, len(_CLIENT))
    + _CLIENT
    + struct.pack(">ib", 0, 0)  # no topics, create none
)
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """A broker's response: its cluster's id and the ports of the live brokers."""

    cluster: str
    ports: tuple[int, ...]


def ask(port: int, timeout: float = 1.0) -> ProbeResult | None:
    """Return the response of the broker on a loopback port; ``None`` if none arrives in time."""
    try:
        with socket.create_connection((HOST, port), timeout) as connection:
            connection.sendall(struct.pack(">i", len(_REQUEST)) + _REQUEST)
            size = struct.unpack(">i", _read(connection, 4))[0]
            if not 0 < size <= _LARGEST:
                return None
            return _parse(_read(connection, size))
    except (OSError, EOFError, struct.error, UnicodeDecodeError):
        return None  # closed, silent, or not Kafka


def is_free(port: int) -> bool:
    """Return whether the loopback port can be bound now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_ports(count: int) -> list[int]:
    """Return distinct loopback ports that were free when checked."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def _parse(frame: bytes) -> ProbeResult:
    (brokers,) = struct.unpack_from(">i", frame, 8)  # after correlation id and throttle time
    at = 12
    ports = []
    for _ in range(brokers):
        _, at = _string(frame, at + 4)  # after the node id
        ports.append(int(struct.unpack_from(">i", frame, at)[0]))
        _, at = _string(frame, at + 4)
    cluster, _ = _string(frame, at)
    return ProbeResult(cluster, tuple(ports))


def _string(frame: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", frame, at)
    end = at + 2 + max(length, 0)
    return frame[at + 2 : end].decode(), end
