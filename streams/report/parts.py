"""Parts: the contents of single records of dialogs, for the audit.

They are compact, because they are sorted and passed between processes.

Ids are bytes, times are epoch milliseconds. ``at`` of a part is its record's partition and offset.
The commands of one dialog are in one partition, and so are its state and its events.
"""

from __future__ import annotations

from typing import NamedTuple

from streams.protocol import Cause
from streams.report.facts import Ending

Where = tuple[int, int]
"""Partition and offset of a record."""
_ID = 16  # bytes


def no_dialog(offset: int) -> bytes:
    """Return a key for counts that do not belong to any dialog.

    Any writer may cause millions of them, so they are spread over 256 keys.
    """
    return bytes([offset % 256])


def shared_key(command_id: bytes) -> bytes:
    """Return the key for the outcome of a SEND on several conversations."""
    return b"#" + command_id


def is_shared(key: bytes) -> bool:
    """Return whether a key belongs to a SEND on several conversations, not to a dialog."""
    return len(key) == _ID + 1


def is_dialog(key: bytes) -> bool:
    """Return whether a key is a dialog's id."""
    return len(key) == _ID


class Sent(NamedTuple):
    """A SEND on one conversation, with a value that identifies its body."""

    at: Where
    place: str
    from_initiator: bool
    command_id: bytes
    message_id: bytes
    digest: bytes
    stored_at: int
    read: bool
    cause: Cause | None


class Began(NamedTuple):
    """A BEGIN; ``expires_at`` is 0 for the maximum lifetime.

    ``job`` is the replay that issued it; it is empty for an application.
    """

    command_id: bytes
    expires_at: int
    job: str = ""


class Ended(NamedTuple):
    """An END that its endpoint has read."""

    at: Where
    place: str
    from_initiator: bool
    command_id: bytes
    how: Ending
    cause: Cause | None


class Refused(NamedTuple):
    """An event: a statement was rejected, with an error number."""

    command_id: bytes
    number: int
    place: str
    from_initiator: bool
    reported_at: int


class Shared(NamedTuple):
    """A SEND on several conversations, which is applied to all conversations or to none."""

    command_id: bytes


class Failed(NamedTuple):
    """An event: an endpoint has ended in error; ``error`` is 0 for an error of the other side."""

    at: Where
    place: str
    is_initiator: bool
    error: int


class Unaccepted(NamedTuple):
    """An event: a target acknowledged a message whose contract it does not accept (5.3).

    The target has created no endpoint, so only this event and its Error show the rejection.
    """

    place: str
    from_initiator: bool
    sequence: int


class Duplicate(NamedTuple):
    """An event: a duplicate was removed; ``cause`` is its origin."""

    cause: str
    reported_at: int


class Dropped(NamedTuple):
    """An event: a copy was dropped."""

    number: int
    reported_at: int


class Delayed(NamedTuple):
    """An event: a message is delayed."""

    number: int
    reported_at: int


class Queued(NamedTuple):
    """A message in a queue."""

    at: Where
    place: str
    from_initiator: bool
    message_id: bytes
    sequence: int
    digest: bytes
    sent_at: int
    path: tuple[tuple[str, int], ...]


class QueuedEnd(NamedTuple):
    """An EndDialog, or an Error with its code, in a queue."""

    place: str
    from_initiator: bool
    error: int | None


class Kept(NamedTuple):
    """A state record of an endpoint; ``None`` is a tombstone."""

    at: Where
    home: str
    database: str
    is_initiator: bool
    value: bytes | None


Copy = Duplicate | Dropped | Delayed
Ends = Ended | Failed | QueuedEnd | Unaccepted
Part = Sent | Began | Refused | Shared | Queued | Kept | Ends | Copy
