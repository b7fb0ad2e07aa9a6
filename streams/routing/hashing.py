"""The two choices by the dialog's id: deterministic, uniform, and not random (3.1, U-13)."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable


def pick_broker(count: int, conversation: uuid.UUID) -> int:
    """Return which of ``count`` sorted broker ids a dialog takes (U-18).

    Plain ``mod`` and not rendezvous hashing: a dialog keeps its broker only while the table is
    unchanged, as documented, and a changing table can produce the several-targets problem.
    """
    digest = hashlib.blake2b(conversation.bytes, digest_size=8).digest()
    return int.from_bytes(digest, "big") % count


def order_databases(names: Iterable[str], conversation: uuid.UUID | None) -> tuple[str, ...]:
    """Return databases in search order for a service (R7.2b, U-13)."""
    if conversation is None:
        return tuple(sorted(names))

    def rank(name: str) -> bytes:
        text = name.encode("utf-16-le", "surrogatepass")
        return hashlib.blake2b(conversation.bytes + text, digest_size=8).digest()

    return tuple(sorted(names, key=lambda name: (rank(name), name)))
