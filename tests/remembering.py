"""Query what Kafka stores about a client: committed offsets, transactional id and producer id.

Kafka's client for Python can list neither transactions nor producers, so these requests are encoded
here (versions 0 of DescribeProducers and DescribeTransactions).
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

from streams.kafka import Cluster, read_notes_of
from tests.running import DEADLINE, eventually

_DESCRIBE_PRODUCERS, _DESCRIBE_TRANSACTIONS = 61, 65
_NOT_FOUND = 105
_NOT_HERE, _LATER = 16, (14, 15, 51)
"""NOT_COORDINATOR; and that the coordinator is loading, moving or completing a transaction."""


def has_offsets(cluster: Cluster, group: str) -> bool:
    """Return whether a consumer group has committed offsets."""
    return bool(read_notes_of(cluster, [group])[group])


def has_transactional_id(cluster: Cluster, name: str) -> bool:
    """Return whether the transaction coordinator has a transactional id."""

    def answer() -> set[int]:
        found = {_state(broker, name) for broker in _brokers(cluster)} - {_NOT_HERE, *_LATER}
        if not found:
            time.sleep(0.05)
        return found

    [code] = eventually(answer, f"the coordinator of {name}")
    assert code in (0, _NOT_FOUND), f"error {code} for {name}"
    return code == 0


def producer_ids(cluster: Cluster, topic: str, partition: int = 0) -> set[int]:
    """Return the ids of the producers that a partition's leader has."""
    asked = b"\x02" + _text(topic) + b"\x02" + struct.pack(">i", partition) + b"\0\0"
    [broker] = _brokers(cluster)
    answer = _Answer(_call(broker, _DESCRIBE_PRODUCERS, asked))
    answer.skip(4)  # throttle time
    assert answer.length() == 1
    answer.text()
    assert answer.length() == 1
    _, error = answer.unpack(">ih")
    assert error == 0, f"error {error} for {topic}/{partition}"
    answer.text()
    found = set()
    for _ in range(answer.length()):
        found.add(answer.unpack(">qiiqiqb")[0])
    return found


def _state(broker: tuple[str, int], name: str) -> int:
    """Return the error code of the description of a transactional id; 0 if the broker has it."""
    answer = _Answer(_call(broker, _DESCRIBE_TRANSACTIONS, b"\x02" + _text(name) + b"\0"))
    answer.skip(4)
    assert answer.length() == 1
    return int(answer.unpack(">h")[0])


def _brokers(cluster: Cluster) -> list[tuple[str, int]]:
    found = cluster.admin().list_topics(timeout=DEADLINE).brokers.values()
    return [(broker.host, broker.port) for broker in found]


def _call(broker: tuple[str, int], key: int, body: bytes) -> bytes:
    """Send a request of a flexible version, and return the body of its response."""
    header = struct.pack(">hhih", key, 0, 7, -1) + b"\0"
    with socket.create_connection(broker, DEADLINE) as connection:
        connection.sendall(struct.pack(">i", len(header + body)) + header + body)
        size = struct.unpack(">i", _exactly(connection, 4))[0]
        return _exactly(connection, size)[5:]  # without the correlation id and the tags


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        assert part, "the broker has closed the connection"
        found += part
    return found


def _text(value: str) -> bytes:
    data = value.encode()
    return _varint(len(data) + 1) + data


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


class _Answer:
    """A response that is decoded from its beginning to its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def skip(self, count: int) -> None:
        self._at += count

    def unpack(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return found

    def length(self) -> int:
        """Return the length of a compact array or string; null has the length 0."""
        return max(0, sum((b & 0x7F) << 7 * n for n, b in enumerate(self._varint())) - 1)

    def text(self) -> str:
        size = self.length()
        self._at += size
        return self._data[self._at - size : self._at].decode()

    def _varint(self) -> Iterator[int]:
        while True:
            self._at += 1
            byte = self._data[self._at - 1]
            yield byte
            if not byte & 0x80:
                return
