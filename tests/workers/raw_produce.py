"""A record as no client library would send it: header names that are no text, spoken by hand."""

from __future__ import annotations

import socket
import struct

from tests.running import eventually
from tests.workers.rig import pause

_PRODUCE, _VERSION, _LZ4 = 0, 3, 3
_NO_LEADER_YET = 3, 6
"""UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER: the topic was made just now."""


def produce_raw(
    bootstrap: str, topic: str, key: bytes, value: bytes, headers: list[tuple[bytes, bytes]]
) -> None:
    """Append one record to partition 0 of a topic; raises AssertionError where Kafka refuses."""
    batch = _batch(_record(key, value, headers))

    def taken() -> bool:
        error = _ask(bootstrap, topic, batch)
        assert error in (0, *_NO_LEADER_YET), f"Kafka answers {error}"
        return error == 0 or pause()

    eventually(taken, f"a leader of {topic}")


def _ask(bootstrap: str, topic: str, batch: bytes) -> int:
    """Ask Kafka to append a batch; returns the number of its error."""
    name = topic.encode()
    body = (
        struct.pack(">hhih", _PRODUCE, _VERSION, 1, -1)  # no client id
        + struct.pack(">hhi", -1, -1, 30_000)  # no transaction, all replicas
        + struct.pack(">ih", 1, len(name))
        + name
        + struct.pack(">iii", 1, 0, len(batch))
        + batch
    )
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
        answer = connection.recv(size, socket.MSG_WAITALL)
    error: int = struct.unpack_from(">h", answer, 4 + 4 + 2 + len(name) + 4 + 4)[0]
    return error


def _record(key: bytes, value: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    body = b"\x00" + _varint(0) + _varint(0) + _sized(key) + _sized(value) + _varint(len(headers))
    body += b"".join(_sized(name) + _sized(content) for name, content in headers)
    return _sized(body)


def _batch(record: bytes) -> bytes:
    now = 1_700_000_000_000
    # attributes, last offset delta, two timestamps, no producer, one record
    numbers = struct.pack(">hiqqqhii", _LZ4, 0, now, now, -1, -1, -1, 1)
    after_crc = numbers + _frame(record)
    crc = _crc32c(after_crc)
    rest = struct.pack(">ibI", -1, 2, crc) + after_crc
    return struct.pack(">qi", 0, len(rest)) + rest


def _frame(raw: bytes) -> bytes:
    """Return an LZ4 frame of one block that is stored as it is.

    A broker that stores lz4 writes anything else anew, and makes text of the names of headers.
    """
    stored = struct.pack("<I", len(raw) | 1 << 31) + raw
    return b"\x04\x22\x4d\x18\x60\x40\x82" + stored + bytes(4)


def _sized(raw: bytes) -> bytes:
    return _varint(len(raw)) + raw


def _varint(number: int) -> bytes:
    zigzag, out = number << 1, bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])


def _crc32c(raw: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in raw:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
