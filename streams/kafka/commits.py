"""Commit offsets within a deadline.

Kafka's client has no deadline for a commit, and waits for as long as the group's coordinator is
down.
"""

from __future__ import annotations

import time

from streams.kafka.cluster import Consumer, KafkaError, KafkaException, TopicPartition
from streams.kafka.coordinator import while_coordinator_moves
from streams.kafka.patience import OneAtATime

PATIENCE = 30.0
"""Timeout of a commit in seconds, and how long it is retried while the coordinator is moving."""
_AGAIN = 0.1
"""Seconds until a commit that failed because the group coordinator is moving is retried."""


class Commits:
    """The commits of one consumer, one at a time; do not use this in callbacks of the consumer.

    Kafka's client lets one thread at a time use a consumer: while a callback runs, a commit of
    another thread is not sent, and until the commit returns, the consumer cannot be polled.
    """

    def __init__(self, consumer: Consumer) -> None:
        self._consumer, self._calls = consumer, OneAtATime()

    @property
    def is_stuck(self) -> bool:
        """Return whether a commit is still waiting; if so, the consumer must not be closed."""
        return self._calls.is_busy

    def commit(self, offsets: list[TopicPartition]) -> None:
        """Commit; retry while the group coordinator is moving. Raise like :meth:`commit_once`."""
        while_coordinator_moves(
            lambda: self.commit_once(offsets, PATIENCE), PATIENCE, lambda: time.sleep(_AGAIN)
        )

    def commit_once(self, offsets: list[TopicPartition], timeout: float) -> None:
        """Commit; raise KafkaException if a partition is rejected or Kafka does not respond.

        A commit without a response may still take effect later. Until it has ended, no other commit
        is made.
        """
        done: list[TopicPartition] = []

        def call() -> None:
            done.extend(self._consumer.commit(offsets=offsets, asynchronous=False) or ())

        made = self._calls.call(call, timeout)
        if not made and not self._calls.is_busy:  # an earlier call has ended in the meantime
            made = self._calls.call(call, timeout)
        if not made:
            why = f"no answer within {timeout:g} s"
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, why))
        for place in done:
            if place.error is not None:
                raise KafkaException(place.error)
