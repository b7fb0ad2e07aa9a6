"""The partition of a key: Kafka's murmur2, as used by Java clients and by Hopline."""

from __future__ import annotations

import uuid
from functools import lru_cache

_M, _WORD = 0x5BD1E995, 0xFFFFFFFF
_SEED = 0x9747B28C


def murmur2(key: bytes) -> int:
    """Return Kafka's 32-bit hash of a key, unsigned (``Utils.murmur2``)."""
    h = _SEED ^ len(key)
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * _M & _WORD
        k = (k ^ k >> 24) * _M & _WORD
        h = (h * _M & _WORD) ^ k
    if whole < len(key):
        h = (h ^ int.from_bytes(key[whole:], "little")) * _M & _WORD
    h = (h ^ h >> 13) * _M & _WORD
    return h ^ h >> 15


@lru_cache(maxsize=65536)
def partition_of(conversation: uuid.UUID, count: int) -> int:
    """Return the partition of a conversation in a topic with ``count`` partitions."""
    return (murmur2(str(conversation).encode("ascii")) & 0x7FFFFFFF) % count
