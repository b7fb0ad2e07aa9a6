"""Batches with the producer id of another client, as no client library would send them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable

from tests.kafka.raw_batch import ask, batch, record
from tests.running import eventually
from tests.workers.rig import pause

_PRODUCER_ID = 22
LARGEST_EPOCH = 32_767


def next_producer_id(bootstrap: str) -> int:
    """Take a producer id from Kafka: the next client gets the next number."""
    return 1 + eventually(lambda: _producer_id(bootstrap) or pause(), "a producer id")[0]


def _producer_id(bootstrap: str) -> tuple[int] | None:
    """Ask for a producer id; a broker that has just started may have none yet."""
    host, _, port = bootstrap.rpartition(":")
    request = struct.pack(">hhihhi", _PRODUCER_ID, 0, 1, -1, -1, 60_000)
    with socket.create_connection((host, int(port)), 30) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
        answer = connection.recv(size, socket.MSG_WAITALL)
    error, producer = struct.unpack(">hq", answer[8:18])
    return (producer,) if error == 0 else None


def forge(bootstrap: str, topic: str, producers: Iterable[int], epoch: int = LARGEST_EPOCH) -> None:
    """Append a batch with each of these ids to partition 0 of a topic."""
    for producer in producers:
        forged = batch(record(0, b"forged", b"forged"), producer=(producer, epoch, 0))
        assert ask(bootstrap, topic, forged) == 0
