"""Keyed hashes of GUIDs, so that clients cannot predict hash values.

Python hashes text and bytes with a random key. Otherwise a client could choose dictionary keys with
equal hashes, and each lookup would have to compare all of them. But a UUID is hashed like an
integer, without a random key, and clients choose conversation ids and message ids.
"""

from __future__ import annotations

import uuid


def randomize_guid_hashes() -> None:
    """Hash UUIDs with the random key that this process uses for bytes (PYTHONHASHSEED).

    Call this only in Hopline's own processes, and before they store UUIDs: entries of existing
    dictionaries can no longer be found.
    """
    uuid.UUID.__hash__ = _keyed_hash  # type: ignore[method-assign, assignment]


def _keyed_hash(guid: uuid.UUID) -> int:
    return hash(guid.int.to_bytes(16, "big"))
