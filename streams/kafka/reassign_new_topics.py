"""Assign topics that were created while a static member was down.

Kafka recognizes a static member and returns its last assignment without a rebalance (KIP-345). A
topic created since then stays unassigned. The group's leader watches topics for the other members,
but if the leader is the restarted member, it does not notice such a topic. So each member checks
after joining, and requests a rebalance if a partition is unassigned. The leader assigns partitions
according to its own metadata. If this metadata is stale, the partition stays unassigned, so the
member checks a few more times.
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
"""Seconds until a rebalancing group is checked again."""
_AGAIN = 5.0
"""Seconds until the group is checked again if Kafka did not respond or a partition was unassigned.
"""
_MOST = 5
"""Maximum number of rebalances to request; a partition can stay unassigned for other reasons."""


class Returning:
    """The check that a member makes after joining a group; without a ``name``, it does nothing.

    ``is_due``: a check may still be needed. ``after``: delay in seconds after the first request. It
    is for groups whose members transfer partitions in two steps, because partitions are unassigned
    between these steps. ``clock`` is monotonic, in seconds.
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
        self.is_due = bool(name)
        self._after, self._clock = after, clock
        self._look_at: float | None = None
        self._asked = 0

    def finds_idle(self, topics: Collection[str]) -> bool:
        """Return whether to request a rebalance because a partition of these topics is unassigned.

        Waits for Kafka. Most calls do nothing and return ``False``; after ``True``, later calls
        check again until all partitions are assigned.
        """
        if not self.is_due:
            return False
        now = self._clock()
        if self._look_at is None:
            self._look_at = now + self._after
        if now < self._look_at:
            return False
        try:
            found = self._is_idle(topics)
        except KafkaException as error:
            self.is_due = not is_forbidden(error.args[0])
            self._look_at = self._clock() + _AGAIN
            log.info("%s: the assignment is unknown: %s", self._group, error)
            return False
        self._asked += found is True
        self.is_due = found is None or (found and self._asked < _MOST)
        self._look_at = self._clock() + (_UNSETTLED if found is None else _AGAIN * self._asked)
        return found is True

    def _is_idle(self, topics: Collection[str]) -> bool | None:
        admin = self._cluster.admin()
        asked = admin.describe_consumer_groups([self._group], request_timeout=_TIMEOUT)
        there = admin.list_topics(timeout=_TIMEOUT).topics
        group = asked[self._group].result()
        if group.state != ConsumerGroupState.STABLE:
            return None  # a rebalance is in progress, or its leader does not know the topics yet
        assigned = {
            (p.topic, p.partition) for m in group.members for p in m.assignment.topic_partitions
        }
        wanted = {(t, p) for t in topics if t in there for p in there[t].partitions}
        return not wanted <= assigned
