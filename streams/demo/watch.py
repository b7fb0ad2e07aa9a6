"""Count events during the run to show progress; the verdict is based on all records, read again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from streams.errors import ConversationEvent, EventKind
from streams.kafka import OFFSET_BEGINNING, Cluster, TopicPartition
from streams.wire import MalformedError, decode_event


@dataclass(frozen=True, slots=True)
class Killed:
    """When the gateway was killed (epoch ms), and the messages that had arrived by then."""

    instance: str
    at: int
    queued: int


class Watch:
    """A thread that counts records of queue topics and events; a context manager."""

    def __init__(self, cluster: Cluster, queues: Sequence[str]) -> None:
        self._cluster = cluster
        self._queues = tuple(queues)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.queued = 0
        self.events: Counter[tuple[int, int, int]] = Counter()

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    @property
    def ended(self) -> int:
        """Return the number of dialogs whose end has been acknowledged."""
        return self.events[EventKind.CONVERSATION, ConversationEvent.END_ACKNOWLEDGED, 0]

    def count(self, kind: EventKind, error: int) -> int:
        """Return the number of events of a kind with an error number."""
        return sum(n for (k, _, e), n in self.events.items() if k == kind and e == error)

    def _run(self) -> None:
        consumer = self._cluster.consumer(f"{self._cluster.topics.prefix}watch")
        topics = (*self._queues, self._cluster.topics.event)
        consumer.assign([TopicPartition(t, 0, OFFSET_BEGINNING) for t in topics])
        while not self._stop.is_set():
            for message in consumer.consume(1000, 0.2):
                if message.error() is not None:
                    continue
                if message.topic() == self._cluster.topics.event:
                    self._note(message.value())
                else:
                    self.queued += 1
        consumer.close()

    def _note(self, value: bytes | None) -> None:
        try:
            event = decode_event(value)
        except MalformedError:
            return
        self.events[event["event"], event["subclass"], event["error"]] += 1
