"""The RECEIVE statements of a scenario: the order of groups and messages (Q1 to Q3)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from streams.errors import Number
from streams.node import QueueMessage, ReadyQueue, ReadyRow
from streams.simulator.scenario import Receive
from streams.simulator.storage import Store
from streams.topology import Database, queue_named

_HOLDER = "a receive step"


class Receiving:
    """What the ``receive`` steps have left in each queue; partners of a pair share a queue."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, str], _Queue] = {}

    def receive(
        self, action: Receive, store: Store, database: Database
    ) -> Sequence[QueueMessage] | Number:
        """Return the messages that a step receives, or 9617 if the queue is off."""
        name = f"{action.database}/{action.queue}"
        known = queue_named(database, action.queue)
        if known is not None and not known.status:
            return Number.QUEUE_DISABLED
        queue = self._queues.setdefault((store.name, name), _Queue())
        return queue.receive(store.queues.get(name, []), action.count)


def row_of(message: QueueMessage) -> dict[str, Any]:
    """Return a received message in the form of the result."""
    return {
        "conversation": str(message.conversation),
        "sequence": message.header.sequence,
        "type": message.header.type,
    }


@dataclass(slots=True)
class _Queue:
    """The messages of one queue that no RECEIVE has returned yet."""

    _ready: ReadyQueue = field(default_factory=ReadyQueue)
    _known: int = 0

    def receive(self, queue: Sequence[QueueMessage], count: int | None) -> list[QueueMessage]:
        """Return up to ``count`` messages, or all if ``None``.

        They are returned by as many RECEIVE statements as necessary. Each of them takes messages of
        one conversation group and commits.
        """
        for order in range(self._known, len(queue)):
            self._ready.put(_row(order, queue[order]))
        self._known = len(queue)
        found: list[QueueMessage] = []
        most = sys.maxsize if count is None else count
        while len(found) < most:
            rows = self._ready.receive(_HOLDER, most - len(found))
            self._ready.commit(_HOLDER)
            if isinstance(rows, Number) or not rows:
                break
            found += [queue[row.order] for row in rows]
        return found


def _row(order: int, message: QueueMessage) -> ReadyRow:
    side = message.conversation, not message.parties.from_initiator
    return ReadyRow(order, message.group, side, message.header.type, message.priority)
