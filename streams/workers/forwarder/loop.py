"""The forwarder worker: consume a transmission queue, let ``node`` decide, republish, commit.

The commit rule: an offset is committed only if all records before it are *confirmed*, *dropped*
(with their event) or *buffered* in memory. The results of a crash:

    after produce, before flush     the copies may arrive; they are read and produced again
    after flush, before commit      the copies have arrived; they are read and produced again
    buffered copies are lost        the sender's dialog retries
    events about drops wait         copies after the drops are read and produced again

A forwarder never waits for another cluster; copies that are not confirmed within two seconds are
buffered. So a forwarder never loses a message, but may send it twice; the receiving dialog removes
duplicates.
"""

from __future__ import annotations

import logging
import threading
import time

from streams.kafka import (
    OFFSET_BEGINNING,
    PROMPT,
    Cluster,
    Commits,
    Consumer,
    ConsumerHealth,
    KafkaError,
    KafkaException,
    LostBrokers,
    Returning,
    TopicPartition,
    take,
)
from streams.workers.control import Control
from streams.workers.event_counts import Traffic
from streams.workers.forwarder.processor import Processor
from streams.workers.ownership import PairOwnership
from streams.workers.pulse import beat, closing
from streams.workers.slot import Slot

log = logging.getLogger("hopline.forwarder")
ready = logging.getLogger("hopline.ready")

POLL = 0.05
"""Seconds to wait for a record while anything remains to be committed, released or requested."""
IDLE_POLL = 0.25
"""Seconds to wait for a record otherwise. A record ends the wait immediately."""
_PAUSE = 0.01
"""Seconds to wait for a record while events are postponed; without a pause, writing them would use
all of the time that endpoint workers of the process need."""
_FETCHED = 256 << 10
"""Bytes of a partition per fetch, so that a flood in one topic does not delay other topics."""
COMMIT_EVERY = 0.2
RELEASE_EVERY = 0.1
_PATIENCE = 10.0
"""Seconds until another batch is read although Kafka has not confirmed the previous one: a consumer
that does not poll loses its partitions."""
_SETTLED = 3.0
"""Seconds until partitions that were revoked from a member are assigned to another member."""


class ForwarderLoop:
    """The loop of a forwarder as one group member: read, forward, commit.

    The loop is recreated together with its client, and whenever its instance becomes a pair's
    principal.
    """

    def __init__(
        self,
        cluster: Cluster,
        control: Control,
        ownership: PairOwnership,
        slot: Slot,
        processor: Processor,
        traffic: Traffic,
    ) -> None:
        self._cluster, self.ownership, self._processor = cluster, ownership, processor
        self._local_producer, self._tracker = processor.local_producer, processor.tracker
        self._instance = ownership.instance
        self._unconfirmed = LostBrokers(cluster)
        self._unanswered = 0
        """Number of commits that were sent and have no response yet."""
        self._closing = False
        self._all_committed = False
        self._reads: list[str] = []
        self._read_on_at = 0.0
        self._group = f"{cluster.topics.prefix}forwarder.{ownership.home}"
        group = self._group + ownership.suffix
        self._health = ConsumerHealth(cluster, traffic.reader)
        self._consumer = self._offsets = cluster.consumer(
            group,
            partition_assignment_strategy="range",
            enable_partition_eof=True,
            fetch_message_max_bytes=_FETCHED,
            # poll an idle broker less often, like the endpoint worker
            fetch_wait_max_ms=500,
            stats=self._health.report,
            commits=self._answered,
            **PROMPT,
            **slot.member(ownership.home, control.catalog),
        )
        self._returning = Returning(cluster, group, slot.name, after=_SETTLED)
        if ownership.suffix:  # in a group without members, offsets outlive the ownership
            self._offsets = cluster.consumer(self._group)
        self._commits = Commits(self._offsets)

    def run(self, stop: threading.Event) -> None:
        """Forward until ``stop``, or until the role is lost; then drain: flush and commit."""
        self._join(self._consumer)
        with closing(self._close):
            self._turns(stop)
            self._processor.settle()
            self._commit(10.0, waits=True)
            self._local_producer.has_written(_PATIENCE)  # records that have no offset to commit

    def _close(self) -> None:
        self.ownership.assigned = False
        self._closing = True
        # otherwise closing would wait for these calls, possibly forever
        if not (self._commits.is_stuck or self._unanswered):
            self._consumer.close()
            if self._offsets is not self._consumer:
                self._offsets.close()

    def _follow_catalog(self) -> None:
        if self._processor.follow_catalog() and self._processor.inputs() != self._reads:
            self._join(self._consumer)

    def _join(self, consumer: Consumer) -> None:
        self._closing = False
        self._reads = self._processor.inputs()
        consumer.subscribe(
            self._reads,
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._lost,
        )

    def _turns(self, stop: threading.Event) -> None:
        commit_at = release_at = time.monotonic()
        while not stop.is_set() and self.ownership.lasts:
            self._turn()
            self._health.look(self.ownership.assigned, self._consumer)
            if self.ownership.assigned and self._returning.finds_idle(self._reads):
                self.ownership.assigned = False
                self._consumer.unsubscribe()
                self._join(self._consumer)
            now = time.monotonic()
            if now >= release_at:
                self._processor.look_around()
                release_at = now + RELEASE_EVERY
            if now >= commit_at:
                self._commit(2.0)
                commit_at = now + COMMIT_EVERY

    def _turn(self) -> None:
        beat()
        may_go_on = self._may_read()
        batch = take(self._consumer, self._wait()) if may_go_on else []
        self._follow_catalog()  # after the wait, so that no record is handled by an older version
        if batch:
            self._all_committed = False
            self._processor.pass_on(batch)
        self._processor.take_back()
        if may_go_on:  # otherwise Kafka would never have all records, and nothing would be read
            self._processor.postponed.write()

    def _may_read(self) -> bool:
        """Return whether Kafka has the previous batch, or has left it unconfirmed for too long.

        Records that wait for other records keep the client from sleeping (``has_written``).
        """
        now = time.monotonic()
        if not self._local_producer.has_written(POLL) and now < self._read_on_at:
            return False
        self._read_on_at = now + _PATIENCE
        return True

    def _wait(self) -> float:
        """Return the seconds to wait for a record."""
        if self._processor.postponed:
            return _PAUSE
        # The role of a pair may be lost at any moment and must be checked.
        is_idle = not self.ownership.may_go and self._all_committed and self._processor.is_idle
        return IDLE_POLL if is_idle else POLL

    # --- positions -------------------------------------------------------------------------------

    def _commit(self, timeout: float, *, waits: bool = False, revoked: bool = False) -> None:
        """Flush, then commit confirmed offsets; unconfirmed offsets are committed next time.

        Only ``waits`` waits for the response, while nothing polls the consumer (``Commits``). When
        partitions are ``revoked``, the client sends the commit before it joins the group again, so
        the commit takes effect before their next owner reads the offsets.
        """
        offsets = self._tracker.due(self._processor.unfinished(), self._processor.notes())
        self._all_committed = not offsets
        if not offsets:
            self._local_producer.serve()
            return
        is_confirmed = self._local_producer.confirm(timeout)
        self._unconfirmed.look(is_confirmed, self._local_producer.producer)
        if not is_confirmed:
            return
        try:
            if waits or self._offsets is not self._consumer:
                self._commits.commit_once(offsets, timeout)
                self._tracker.committed(offsets)
                self._unanswered = 0
            elif revoked or not self._unanswered:
                self._consumer.commit(offsets=offsets, asynchronous=True)
                self._unanswered += 1
        except KafkaException as error:
            self._not_committed(error)

    def _answered(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        """Process the response to a commit, even for partitions that another worker now owns."""
        self._unanswered = max(0, self._unanswered - 1)
        error = error or next((p.error for p in partitions if p.error is not None), None)
        if error is None:
            self._tracker.committed(partitions)
        else:
            self._not_committed(error)

    def _not_committed(self, error: object) -> None:
        # The next commit includes these offsets. If a rebalance has revoked the partitions, their
        # offsets are dropped, and the new owner reads the records again.
        log.info("%s: offsets were not committed: %s", self._instance, error)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # assigned while the worker leaves; the closing client does not respond
        if self._closing:
            consumer.assign([])
            return
        self._unanswered = 0
        committed = self._offsets.committed(partitions, timeout=10)
        self._tracker.begin(committed)
        for partition in committed:
            if partition.offset < 0:
                partition.offset = OFFSET_BEGINNING
        consumer.assign(committed)
        if not self.ownership.assigned:
            self.ownership.assigned = True
            ready.info("%s forwarder%s: ready", self._instance, self.ownership.of)
        log.info("%s forwards %s", self._instance, _named(partitions))

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._processor.settle()
        self._commit(5.0, revoked=True)
        self._tracker.forget(partitions)
        consumer.unassign()

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._processor.postponed.forget(partitions)
        self._tracker.forget(partitions)
        self.ownership.assigned = False
        log.warning("%s lost %s", self._instance, _named(partitions))
        consumer.unassign()


def _named(partitions: list[TopicPartition]) -> str:
    return ", ".join(f"{p.topic}/{p.partition}" for p in partitions)
