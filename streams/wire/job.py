"""The replay job of a statement or dialog, to separate replayed from live traffic.

Every command of a replay has the header ``sb-job``, the job's name. If a dialog gets a new id, that
id identifies the job. So every record and metric of the dialog also identifies the job, regardless
of the process that writes it. The id is a version-8 GUID (RFC 9562: "vendor-specific"), which
Hopline uses for no other purpose, and its last eight digits are the job's tag.
"""

from __future__ import annotations

import hashlib
import uuid

JOB = "sb-job"
_TAG = 4  # bytes
_VERSION, _VARIANT = 8, 0b10


def tag_of(job: str) -> str:
    """Return the eight hexadecimal digits in which the ids of a job's dialogs end."""
    return hashlib.blake2b(job.encode(), digest_size=_TAG).hexdigest()


def renewed(known: uuid.UUID, job: str, loop: int) -> uuid.UUID:
    """Return the job's new id for an original id; ``loop`` counts its runs from 0."""
    said = f"{job}/{loop}/{known}".encode()
    raw = bytearray(hashlib.blake2b(said, digest_size=16 - _TAG).digest())
    raw[6] = raw[6] & 0x0F | _VERSION << 4
    raw[8] = raw[8] & 0x3F | _VARIANT << 6
    return uuid.UUID(bytes=bytes(raw) + bytes.fromhex(tag_of(job)))


def tag_in(conversation: uuid.UUID) -> str | None:
    """Return the tag of the job that gave a dialog its id; None for other dialogs."""
    return conversation.hex[-2 * _TAG :] if conversation.version == _VERSION else None
