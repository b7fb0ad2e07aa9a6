"""What a broker has stored, spoken by hand: no client library shows how a batch is compressed."""

from __future__ import annotations

import socket
import struct

_FETCH, _VERSION = 1, 4
_MOST = 10 << 20
_CONTROL = 0x20
_CODEC = 0x07


def codecs(bootstrap: str, topic: str) -> set[int]:
    """Return the numbers of the codecs of the batches in partition 0 of a topic.

    The batches must fit into one response of 10 MB. Markers of transactions do not count.
    """
    name = topic.encode()
    body = (
        struct.pack(">hhih", _FETCH, _VERSION, 1, -1)  # no client id
        + struct.pack(">iiiib", -1, 0, 0, _MOST, 0)
        + struct.pack(">ih", 1, len(name))
        + name
        + struct.pack(">iiqi", 1, 0, 0, _MOST)
    )
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        with connection.makefile("rb") as received:  # the batches may come later than the rest
            (size,) = struct.unpack(">i", received.read(4))
            answer = received.read(size)
    start = 4 + 4 + 4 + 2 + len(name) + 4 + 4  # correlation, throttle, topic, partition
    error, high, _, aborted = struct.unpack_from(">hqqi", answer, start)
    assert error == 0 and high > 0 and aborted <= 0
    return _codecs(answer[start + 22 + 4 :])


def _codecs(batches: bytes) -> set[int]:
    found, at = set[int](), 0
    while at < len(batches):
        length, _, _, _, attributes = struct.unpack_from(">iibIh", batches, at + 8)
        if not attributes & _CONTROL:
            found.add(attributes & _CODEC)
        at += 12 + length
    return found
