"""The messages that wait in all transmission queues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streams.dashboard.figures import Window
from streams.store import Freshness, QueueSample, Situation
from streams.store import Waiting as WaitingMessages


@dataclass(frozen=True, slots=True)
class Waiting:
    """The transmission queues at the end of the range; ``oldest_at`` is in epoch milliseconds."""

    messages: int
    oldest_at: int | None


def read_waiting(situation: Situation, window: Window, fresh: Freshness) -> Waiting | None:
    """Read the sum of all transmission queues, now or at the end of a past range; None if unknown.

    The present sum is that of the dialogs in the store; samples are some seconds older.
    """
    queues: Sequence[QueueSample | WaitingMessages]
    if window.live:
        queues = tuple(one for of_one in situation.waiting().values() for one in of_one)
    else:
        queues = situation.queues(window.until)
    if fresh.until("dialogs") is None or not (queues or window.live):
        return None
    oldest = (queue.oldest_at for queue in queues if queue.oldest_at is not None)
    return Waiting(sum(queue.messages for queue in queues), min(oldest, default=None))
