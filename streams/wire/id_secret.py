"""Records of ``reading``: the secrets of applications' agents (docs/decisions/0044).

Each writer uses its own key, with a random id, so no record replaces another. The id has a fixed
length, so the rest of the key is the application, whatever its name contains. The key of a position
begins with a topic, whose name contains no colon.
"""

from __future__ import annotations

import re
import uuid

from streams.protocol import SECRET_BYTES
from streams.wire.single_object import Codec, MalformedError

SECRET = Codec("Secret", largest=10 + SECRET_BYTES)

_KEY = re.compile(rb"secret:[0-9a-f]{32}:(.+)", re.DOTALL)


def secret_key(writer: uuid.UUID, application: str) -> bytes:
    """Return the key of a writer's record."""
    return f"secret:{writer.hex}:{application}".encode()


def secret_owner(key: bytes | None) -> bytes | None:
    """Return the application whose secret is stored under a key, or ``None`` for other keys."""
    found = _KEY.fullmatch(key or b"")
    return None if found is None else found[1]


def encode_secret(secret: bytes) -> bytes:
    """Encode a value; raise ValueError for a secret with a wrong length."""
    return SECRET.encode({"secret": secret})


def decode_secret(raw: bytes | None) -> bytes:
    """Decode a value.

    Raises MalformedError if it is invalid; the text of the error contains no part of the secret.
    """
    secret: bytes = SECRET.decode(raw)["secret"]
    if len(secret) != SECRET_BYTES:
        raise MalformedError(f"Secret: not {SECRET_BYTES} bytes")
    return secret
