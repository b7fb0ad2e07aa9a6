"""Bringing a partition's endpoints back from the ``dialog`` topic (design rule: restore).

Offsets that a group commits can expire when it has had no member for a week, so the positions are a
state record too, written in the same transaction as everything else; the higher one counts. The end
of the state is the *high watermark* at assignment, not the last stable offset: a transaction of the
previous owner that is still open must have ended before its state may be believed.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from streams.errors import SurroundingsError
from streams.kafka import Cluster, Consumer, TopicPartition, read_live, watermarks
from streams.node import DialogKey, Request
from streams.protocol import Dialog, Stored
from streams.wire.state import (
    POSITIONS_KEY,
    Positions,
    RequestKey,
    decode_chunk,
    decode_dialog,
    decode_key,
    decode_positions,
    decode_request,
)


@dataclass(slots=True)
class Restored:
    """What a partition's state said: its dialogs, and the positions of its inputs if any.

    ``requests`` for routes are by database and service.
    """

    dialogs: dict[DialogKey, Dialog] = field(default_factory=dict)
    requests: dict[str, dict[str, Request]] = field(default_factory=dict)
    positions: Positions | None = None


def restore_state(
    cluster: Cluster, topic: str, partition: int, *, to_high: bool = True
) -> Restored:
    """Read one partition of ``dialog`` to its high watermark.

    Without ``to_high`` only to what is committed now, for those who look and do not take over.
    Raises MalformedError on a record that cannot be read: state is never skipped.
    """
    return _assemble(read_live(cluster, topic, partition, to_high=to_high))


def _assemble(latest: dict[bytes, bytes]) -> Restored:
    restored = Restored()
    chunks: dict[DialogKey, dict[int, list[Stored]]] = {}
    for raw, value in latest.items():
        if raw == POSITIONS_KEY:
            restored.positions = decode_positions(value)
            continue
        about = decode_key(raw)
        if isinstance(about, RequestKey):
            request = decode_request(value, about.service)
            restored.requests.setdefault(about.database, {})[about.service] = request
            continue
        key: tuple[str, uuid.UUID, bool] = (about.database, about.conversation, about.is_initiator)
        if about.chunk is None:
            restored.dialogs[key] = decode_dialog(value, about.conversation)
        else:
            chunks.setdefault(key, {})[about.chunk] = decode_chunk(value)
    for key, found in chunks.items():
        dialog = restored.dialogs.get(key)
        if dialog is not None:
            dialog.chunks.update(found)
    return restored


def start_position(
    member: Consumer, aside: Consumer, topic: str, partition: int, state: int | None
) -> int:
    """Return where to go on reading an input: the higher of state and committed offset.

    ``member`` is in the group whose offsets count; ``aside`` is not, and asks for watermarks.

    With neither, reading begins at 0, and only if the log does. Raises SurroundingsError where the
    log begins above the position: records that nobody has applied are gone.
    """
    where = TopicPartition(topic, partition)
    committed = member.committed([where], timeout=30)[0].offset
    known = [n for n in (state, committed) if n is not None and n >= 0]
    position = max(known, default=0)
    low, high = watermarks(aside, topic, partition)
    if low > position:
        raise SurroundingsError(
            f"{topic}/{partition} begins at {low}, but only what is below {position} was applied.",
            "Records are lost: restore the topic, or start the instance on a new prefix.",
        )
    if position > high:
        raise SurroundingsError(
            f"{topic}/{partition} ends at {high}, but {position} was applied already.",
            "The topic was made anew under its state: start the instance on a new prefix.",
        )
    return position
