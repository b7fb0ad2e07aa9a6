"""Invariant 7: the state of a dialog or a forwarder stays bounded, however long the backlog is.

The bounded values of a dialog are its state record, its undelivered fragments, the positions per
chunk, the chunk records (only of waiting messages) and the fragments in flight. The bounded values
of a forwarder are the copies of one fragment that it has not read yet, and the bytes that it
buffers.
"""

from __future__ import annotations

from collections.abc import Iterator

from streams.node import Transaction
from streams.protocol import CHUNK, Dialog, DialogKey, Limits, State
from streams.simulator.codec import HEADER
from streams.simulator.storage import Store

STATE_BYTES = 1_024
"""Maximum size in bytes of a dialog's state record, excluding names and buffered messages."""
EACH = 30
"""Bytes per buffered message: two pairs of numbers, as the simulator writes them."""
OWN = 5
"""Maximum number of a dialog's own parked messages: a timer, and one Error of each kind."""
COPIES = 4
"""Maximum number of copies of one fragment in ``out`` after the committed offset.

At most one retry waits in ``out``; the other copies were forwarded, but their offset is not
committed yet.
"""


def excesses(at: Store, key: DialogKey, new: Dialog, limits: Limits, longest: int) -> Iterator[str]:
    """Yield the bounds that a dialog's committed state exceeds.

    ``longest``: the size in bytes of the largest body in this run.
    """
    kept = len(new.held), len(new.partial), len(new.parked)
    # A message is buffered even if it has more fragments than the window allows.
    whole = limits.fragments(longest)
    most = limits.widest, whole, max(limits.window, whole) + OWN
    if any(n > limit for n, limit in zip(kept, most, strict=True)):
        yield f"{kept} fragments are buffered (incomplete and parked); the maximum is {most}"
    if any(place < new.received for place in new.held):
        yield "fragments that were already accepted are buffered"
    if new.state in (State.ER, State.CD) and (new.held or new.partial):
        yield f"fragments are buffered in state {new.state.name}, which accepts no messages"
    names = len(new.service) + len(new.far_service) + len(new.contract) + len(new.database)
    size = len(at.state.dialogs[key])
    if size > STATE_BYTES + 4 * names + EACH * sum(kept):
        yield f"the state record has {size} bytes"
    if any(len(chunk) > CHUNK for chunk in new.chunks.values()):
        yield f"a chunk has more than {CHUNK} positions"
    if at.state.chunks.get(key, {}).keys() != new.chunks.keys():
        yield "the chunk records do not match the waiting messages"
    if new.transmitted[0] - new.acknowledged[0] > limits.widest:
        yield "more messages are in flight than the window allows"


def crowds(at: Store, tx: Transaction) -> Iterator[str]:
    """Yield fragments that a transaction retries although ``out`` has too many copies of them."""
    for frame in tx.frames:
        if frame.header is None or not frame.header.sequenced or frame.journey.attempt == 0:
            continue
        ahead = at.topics.out[at.forwarded[0] :]
        raw, dialog = HEADER.dumps(frame.header), frame.conversation.bytes
        if sum(e.message == raw and e.key == dialog for e in ahead) > COPIES:
            number = frame.header.sequence
            yield f"more than {COPIES} copies of message {number} wait for the forwarder"
