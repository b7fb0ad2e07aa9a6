"""Count the outcome of each message of a dialog from its copies."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from streams.errors import Number
from streams.live.life.life import MessageLife, Step
from streams.live.life.records import Frame
from streams.live.life.steps import Scene

Key = tuple[bool, int]
"""(from the initiator, number)"""


def tally(
    frames: Sequence[Frame], happened: Iterable[Step], scene: Scene
) -> tuple[MessageLife, ...]:
    """Return the messages by number, the initiator's first."""
    found: dict[Key, MessageLife] = {}
    attempts: dict[Key, set[int]] = defaultdict(set)
    sizes: dict[Key, dict[int, int]] = defaultdict(dict)
    for frame in frames:
        header = frame.header
        if header is None or not header.sequenced:
            continue
        key = (frame.parties.from_initiator, header.sequence)
        one = found.setdefault(key, MessageLife(*key, header.type, header.enqueued_at))
        attempts[key].add(frame.journey.attempt)
        one.attempts = len(attempts[key])
        _count(one, frame, scene)
        if frame.kind == "out" or (frame.kind == "queue" and header.fragment not in sizes[key]):
            sizes[key][header.fragment] = frame.size
            one.size = sum(sizes[key].values())
    for step in happened:
        message = found.get(step.message) if step.message is not None else None
        if message is None:
            continue
        message.sent_at = min(message.sent_at, step.at)
        if step.number == Number.DUPLICATE:
            message.removed += 1
        elif step.number:
            message.refused[step.number] = message.refused.get(step.number, 0) + 1
    _acknowledge(found, frames)
    return tuple(found[key] for key in sorted(found, key=lambda k: (not k[0], k[1])))


def _count(message: MessageLife, frame: Frame, scene: Scene) -> None:
    assert frame.header is not None
    if frame.kind == "txq":
        message.copies += 1
    if frame.kind == "queue" and frame.journey.path:
        at = frame.journey.path[-1][1]
        if message.queued_at is None or at < message.queued_at:
            message.queued_at = at
            message.place = f"{scene.host(frame.home)}/{(frame.queue or ('',))[0]}"


def _acknowledge(found: dict[Key, MessageLife], frames: Iterable[Frame]) -> None:
    """Record the times at which a sender's instance received cumulative acknowledgements."""
    acks = sorted(
        (f.journey.path[-1][1], f.parties.from_initiator, f.ack.next_sequence)
        for f in frames
        if f.kind == "ack" and f.ack is not None and f.journey.path
    )
    waiting = {side: deque(sorted(n for s, n in found if s is side)) for side in (True, False)}
    for at, by_initiator, following in acks:
        # A forged acknowledgement may name any number, so check only existing message numbers.
        numbers = waiting[not by_initiator]
        while numbers and numbers[0] < following:
            message = found[not by_initiator, numbers.popleft()]
            if message.acknowledged_at is None:
                message.acknowledged_at = at
