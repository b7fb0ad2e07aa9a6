"""Commit offsets within a deadline.

Kafka's client has no timeout for commits: a commit waits for as long as the group's coordinator is
down.
"""

from __future__ import annotations

import time

from streams.kafka.cluster import Consumer, KafkaError, KafkaException, TopicPartition
from streams.kafka.coordinator import while_coordinator_moves
from streams.kafka.patience import OneAtATime

PATIENCE = 30.0
"""Timeout of a commit in seconds, including retries while the coordinator is moving."""
_AGAIN = 0.1
"""Seconds until the retry of a commit that failed because the group coordinator is moving."""


class Commits:
    """The commits of one consumer, one at a time; do not use it in callbacks of the consumer.

    In Kafka's client, only one thread at a time can use a consumer. While a callback runs, another
    thread's commit is not sent; until that commit returns, the consumer cannot be polled.
    """

    def __init__(self, consumer: Consumer) -> None:
        self._consumer, self._calls = consumer, OneAtATime()

    @property
    def is_stuck(self) -> bool:
        """Return whether a commit is still waiting; if so, the consumer must not be closed."""
        return self._calls.is_busy

    def commit(self, offsets: list[TopicPartition]) -> None:
        """Commit, with retries while the coordinator is moving; raise like :meth:`commit_once`."""
        while_coordinator_moves(
            lambda: self.commit_once(offsets, PATIENCE), PATIENCE, lambda: time.sleep(_AGAIN)
        )

    def commit_once(self, offsets: list[TopicPartition], timeout: float) -> None:
        """Commit; raise KafkaException if a partition is rejected or Kafka does not respond.

        A commit without a response may still take effect later. No other commit is made until it
        has ended.
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
