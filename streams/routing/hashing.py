"""The two choices that depend on a dialog's id; they are uniform but deterministic (3.1, U-13)."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable


def pick_broker(count: int, conversation: uuid.UUID) -> int:
    """Return the index of a dialog's broker id among ``count`` sorted broker ids (U-18).

    The index is computed by plain ``mod``, not by rendezvous hashing. As SQL Server documents, a
    dialog keeps its broker only while the table is unchanged, and a changed table can give a dialog
    several targets.
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
