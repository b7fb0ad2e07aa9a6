"""Who comes back to its group under the name that it had there.

Kafka knows such a member again and hands it what it was dealt last, without a new deal (KIP-345).
What was not there then, because its topic was just made anew say, nobody reads: also the member
that watches the topics for the others does not when it comes back. Each looks once, therefore, and
where something lies idle it asks for a new deal.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection

from confluent_kafka import ConsumerGroupState, KafkaException

from streams.kafka.cluster import Cluster
from streams.kafka.failure import is_forbidden

log = logging.getLogger("hopline.kafka")

_TIMEOUT = 10.0
_UNSETTLED = 0.5
"""Seconds until a group is asked again that was rebalancing."""
_AGAIN = 5.0
"""Seconds until it is asked again, where Kafka did not say it."""


class Returning:
    """The first look of a member after it was dealt something; without a ``name`` it needs none.

    ``after``: so many seconds after it was first asked for, where members hand partitions over in
    two steps, between which they are nobody's. ``clock`` is monotonic, in seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        name: str | None,
        *,
        after: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster, self._group = cluster, group
        self._is_due = bool(name)
        self._after, self._clock = after, clock
        self._look_at: float | None = None

    def finds_idle(self, topics: Collection[str]) -> bool:
        """Tell once, and wait for it, whether part of these topics was dealt to nobody.

        Where Kafka does not say it, a later call asks again.
        """
        if not self._is_due:
            return False
        now = self._clock()
        if self._look_at is None:
            self._look_at = now + self._after
        if now < self._look_at:
            return False
        try:
            found = self._is_idle(topics)
            self._is_due = found is None
            if found is None:
                self._look_at = self._clock() + _UNSETTLED
        except KafkaException as error:
            self._is_due = not is_forbidden(error.args[0])
            self._look_at = self._clock() + _AGAIN
            log.info("%s: what was dealt is not known: %s", self._group, error)
            return False
        return bool(found)

    def _is_idle(self, topics: Collection[str]) -> bool | None:
        admin = self._cluster.admin()
        asked = admin.describe_consumer_groups([self._group], request_timeout=_TIMEOUT)
        there = admin.list_topics(timeout=_TIMEOUT).topics
        group = asked[self._group].result()
        if group.state != ConsumerGroupState.STABLE:
            return None  # a rebalance goes on, and its leader may not know the topics yet
        dealt = {
            (p.topic, p.partition) for m in group.members for p in m.assignment.topic_partitions
        }
        wanted = {(t, p) for t in topics if t in there for p in there[t].partitions}
        return not wanted <= dealt
