"""Batches as no client library would send them, spoken by hand."""

from __future__ import annotations

import socket
import struct
import time

from tests.running import eventually
from tests.workers.rig import pause

LZ4, UNCOMPRESSED = 3, 0
TRANSACTIONAL = 16
"""Added to a codec, it makes the batch a part of its producer's transaction."""
_PRODUCE, _VERSION = 0, 3
_NO_LEADER_YET = 3, 6
"""UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER: the topic was made just now."""
FAR = 1 << 32
"""Added to a delta, it has no effect in Java, which reads 32 bits, and adds 2^31 in librdkafka."""


def append(
    bootstrap: str, topic: str, batch: bytes, transaction: str | None = None, *, partition: int = 0
) -> None:
    """Append a batch to a partition of a topic; raises AssertionError where Kafka refuses."""

    def taken() -> bool:
        error = ask(bootstrap, topic, batch, transaction, partition=partition)
        assert error in (0, *_NO_LEADER_YET), f"Kafka answers {error}"
        return error == 0 or pause()

    eventually(taken, f"a leader of {topic}")


def ask(
    bootstrap: str, topic: str, batch: bytes, transaction: str | None = None, *, partition: int = 0
) -> int:
    """Ask Kafka to append a batch; returns the number of its error."""
    body = (
        (struct.pack(">h", -1) if transaction is None else text(transaction))
        + struct.pack(">hi", -1, 30_000)  # all replicas
        + struct.pack(">i", 1)
        + text(topic)
        + struct.pack(">iii", 1, partition, len(batch))
        + batch
    )
    answer = request(bootstrap, _PRODUCE, _VERSION, body)
    error: int = struct.unpack_from(">h", answer, 4 + len(text(topic)) + 4 + 4)[0]
    return error


def request(bootstrap: str, key: int, version: int, body: bytes) -> bytes:
    """Send a request to the first broker; returns the response without its header."""
    sent = struct.pack(">hhih", key, version, 1, -1) + body  # no client id
    host, _, port = bootstrap.rpartition(":")
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(struct.pack(">i", len(sent)) + sent)
        (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
        return connection.recv(size, socket.MSG_WAITALL)[4:]


def text(value: str) -> bytes:
    """Return a string as requests contain it."""
    return struct.pack(">h", len(value.encode())) + value.encode()


def batch(
    *records: bytes,
    codec: int = LZ4,
    behind: bytes = b"",
    at: int | None = None,
    producer: tuple[int, int, int] = (-1, -1, -1),
    last: int | None = None,
) -> bytes:
    """Return a batch; ``behind``: bytes behind the end mark of its lz4 frame, ``at``: its time.

    ``producer``: id, epoch and sequence number; ``last``: the stated last offset.
    """
    now = int(time.time() * 1000) if at is None else at
    last, payload = len(records) - 1 if last is None else last, b"".join(records)
    payload = _frame(payload) + behind if codec & ~TRANSACTIONAL == LZ4 else payload
    # attributes, last offset delta, two timestamps, producer, number of records
    numbers = struct.pack(">hiqqqhii", codec, last, now, now, *producer, len(records))
    after_crc = numbers + payload
    rest = struct.pack(">ibI", -1, 2, _crc32c(after_crc)) + after_crc
    return struct.pack(">qi", 0, len(rest)) + rest


def record(
    delta: int = 0,
    key: bytes = b"k",
    value: bytes = b"v",
    headers: list[tuple[bytes, bytes]] | None = None,
    *,
    far: bool = False,
    length: int | None = None,
    longer: int = 0,
    offset: int | None = None,
) -> bytes:
    """Return a record; ``far``: its offset delta is :data:`FAR` higher, ``length``: a wrong one.

    ``longer`` is added to its length. ``offset``: a delta that may be negative.
    """
    named = headers or []
    stated = (delta << 1) + (FAR if far else 0)
    if offset is not None:
        stated = (offset << 1) ^ (offset >> 63)
    body = b"\x00" + _varint(0) + _raw_varint(stated)
    body += _sized(key) + _sized(value) + _varint(len(named))
    body += b"".join(_sized(name) + _sized(content) for name, content in named)
    return _varint((len(body) if length is None else length) + longer) + body


def disguised(
    delta: int,
    value: bytes,
    *before: bytes,
    key: bytes = b"k",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> tuple[bytes, bytes]:
    """Return two records for the broker; librdkafka reads the first, and one with any ``delta``.

    It also reads the records ``before`` this one.

    The first states a length that reaches to a record in the value of the second. The broker
    ignores the lengths in a compressed batch.
    """
    inner = record(delta, key, value, headers)
    body = inner[len(_varint(len(inner) - 1)) :]
    inner = _varint(len(body) + 1) + body  # with the number of headers of the second
    inner = b"".join(before) + inner
    first, second = record(0, value=b"sound"), record(1, value=inner)
    length = len(first) - 1 + second.index(inner)
    return record(0, value=b"sound", length=length), second


def _frame(raw: bytes) -> bytes:
    """Return an LZ4 frame of one block that is stored as it is.

    A broker that stores lz4 writes anything else anew, and makes text of the names of headers.
    """
    stored = struct.pack("<I", len(raw) | 1 << 31) + raw
    return b"\x04\x22\x4d\x18\x60\x40\x82" + stored + bytes(4)


def _sized(raw: bytes) -> bytes:
    return _varint(len(raw)) + raw


def _varint(number: int) -> bytes:
    return _raw_varint(number << 1)


def _raw_varint(zigzag: int) -> bytes:
    out = bytearray()
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
