"""The compression of a container's blocks, with Avro's names.

Every Avro reader supports deflate. Recording uses Zstandard, which takes a tenth of the CPU time
and produces smaller files; Spark and fastavro can read it.
"""

from __future__ import annotations

import sys
import zlib
from enum import Enum

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_DEFLATE, _ZSTANDARD = 6, 1
"""The compression levels."""
_INFLATED = 1 << 28  # bytes; our blocks have 128 KB, or one record if that is larger


class Codec(Enum):
    """The codec of a container's blocks."""

    NULL = "null"
    DEFLATE = "deflate"
    ZSTANDARD = "zstandard"


def squeeze(codec: Codec, data: bytes) -> bytes:
    """Compress a block; releases the GIL."""
    if codec is Codec.ZSTANDARD:
        return bytes(zstd.compress(data, _ZSTANDARD))
    if codec is Codec.NULL:
        return data
    # Avro's deflate has no zlib frame.
    deflate = zlib.compressobj(_DEFLATE, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflate.compress(data) + deflate.flush()


def inflate(codec: str, data: bytes) -> bytes:
    """Decompress; raise ValueError, or the library's error, for invalid data.

    Data that is larger than 256 MB after decompression is invalid.
    """
    if codec == Codec.NULL.value:
        return data
    if codec not in (Codec.DEFLATE.value, Codec.ZSTANDARD.value):
        raise ValueError(f"unsupported codec {codec}; supported are null, deflate and zstandard")
    if codec == Codec.ZSTANDARD.value:
        frame = zstd.ZstdDecompressor()
        found = bytes(frame.decompress(data, _INFLATED))
        if not frame.eof:
            raise ValueError("it is not a valid zstandard block")
        return found
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    found = stream.decompress(data, _INFLATED)
    if stream.unconsumed_tail or not stream.eof:
        raise ValueError("it is not a valid deflate block")
    return found
