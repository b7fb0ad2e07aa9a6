"""Design, rule 6: what a transaction writes of a dialog does not grow with what waits in it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from streams.protocol import CHUNK, Limits
from streams.wire.state_keys import POSITIONS_KEY, StateKey, decode_key
from tests.workers.rig import Rig

PATIENT = Limits(retries=(60_000,))


@dataclass(frozen=True)
class Written:
    """A state record of the dialog: its chunk's number, ``None`` for the dialog itself."""

    chunk: int | None
    size: int


def state_of(two: Rig, conversation: uuid.UUID) -> list[Written]:
    """Return all state records that were ever written of a dialog."""
    found = []
    for message in two.records(two.topics.dialog("A")):
        key, value = message.key(), message.value()
        assert isinstance(key, bytes)
        about = decode_key(key) if key != POSITIONS_KEY else None
        if isinstance(about, StateKey) and about.conversation == conversation:
            found.append(Written(about.chunk, len(value or b"")))
    return found


def test_of_many_messages_that_wait_only_the_last_ones_positions_are_written(two: Rig) -> None:
    """Nobody forwards, so everything waits: thousands of messages, a few kilobytes each time."""
    worker = two.endpoint(limits=PATIENT)
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        for _ in range(20 * CHUNK):
            client.send(dialog, b"waits")
        client.send(dialog, b"the last one", wait=True)
        before = len(state_of(two, dialog.id))
        client.send(dialog, b"one more", wait=True)
    written = state_of(two, dialog.id)
    assert [w.chunk for w in written[before:]] in ([None, 20], [20, None])
    assert max(w.size for w in written) < 8 * CHUNK
    assert {w.chunk for w in written} == {None, *range(21)}
    assert worker.failure is None
