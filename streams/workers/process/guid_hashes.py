"""Hashes of GUIDs that no client can compute.

Python hashes text and bytes with a random key, because otherwise a client could choose keys with
equal hashes, and each lookup would compare its key with all of them. But the hash of a UUID is that
of an integer, which has no key, and clients choose conversation ids and message ids.
"""

from __future__ import annotations

import uuid


def randomize_guid_hashes() -> None:
    """Hash UUIDs with the random key that this process uses for bytes (PYTHONHASHSEED).

    Only for a process of Hopline's own, and before it stores UUIDs: entries of a dictionary made
    earlier can no longer be found.
    """
    uuid.UUID.__hash__ = _keyed_hash  # type: ignore[method-assign, assignment]


def _keyed_hash(guid: uuid.UUID) -> int:
    return hash(guid.int.to_bytes(16, "big"))
