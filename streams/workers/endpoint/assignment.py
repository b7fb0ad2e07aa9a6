"""The partitions of an endpoint worker: assigned, restored, revoked.

Partition p of ``cmd``, ``in`` and ``ack`` is one unit. Its endpoints are restored from the state
topic before the first record is read, and dropped when another worker owns the partition.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any

from streams.errors import SurroundingsError
from streams.kafka import (
    Cluster,
    Consumer,
    KafkaException,
    LostBrokers,
    SearchTime,
    TopicPartition,
    partitions_of,
    watermarks,
)
from streams.node import Dialogs, Endpoint
from streams.prose import counted
from streams.wire.partition import partition_of
from streams.wire.state import Positions, unpack_dialog
from streams.workers.collector import keep
from streams.workers.control import Control
from streams.workers.endpoint.allowance import Allowance
from streams.workers.endpoint.bodies import Bodies
from streams.workers.endpoint.inputs import Inputs
from streams.workers.endpoint.look_ahead import LookAhead
from streams.workers.endpoint.partition import Partition
from streams.workers.endpoint.restore import MISSED, Replay, lost_bodies, start_position
from streams.workers.endpoint.tuning import Tuning
from streams.workers.ownership import PairOwnership
from streams.workers.pulse import beat

log = logging.getLogger("hopline.endpoint")
ready = logging.getLogger("hopline.ready")

PROGRESS_EVERY = 0.5
UNKNOWN = 4.0
"""Seconds until the forwarder's position is requested again if there was no response."""


class Assignment:
    """The partitions that one worker owns as a group member; ``owned`` contains them by number.

    ``warm`` is state that was read before the assignment. ``young``, set by the caller, contains
    the offsets, if any, from which records are too recent to trim. ``member`` is the group metadata
    at the time of the assignment; commits use it while the worker owns the partitions. If Kafka has
    declared a client dead, the client may later return an empty member, which Kafka does not fence.
    """

    def __init__(
        self,
        cluster: Cluster,
        instance: str,
        control: Control,
        ownership: PairOwnership,
        tuning: Tuning,
    ) -> None:
        self.cluster = self._cluster = cluster
        self._instance = instance
        self.ownership = ownership
        self._home = ownership.home
        self.inputs = Inputs.of(cluster.topics, ownership.home)
        self._control = control
        self._limits, self._cache_bytes = tuning.bounded, tuning.cache_bytes
        self._most, _ = tuning.pace.value
        self._allowances: dict[int, Allowance] = {}
        self._searches = SearchTime()
        self.owned: dict[int, Partition] = {}
        self.warm: dict[int, Replay] = {}
        self.young: Mapping[tuple[str, int], int] = {}
        self.member: Any = None
        self._partitions = 1
        """The number of partitions in Kafka; the catalog's number may be wrong."""
        self._stranded = LostBrokers(cluster)
        self._closed = False

    def subscribe(self, consumer: Consumer) -> None:
        """Join the group; from now on, polls of the consumer assign and revoke partitions."""
        self._closed = False
        # This consumer does not read records, only log ends and the forwarder's offsets.
        self._aside = self._cluster.consumer(
            f"{self._cluster.topics.prefix}forwarder.{self._home}",
            isolation_level="read_uncommitted",
        )
        consumer.subscribe(
            list(self.inputs),
            on_assign=self._assigned,
            on_revoke=self._revoked,
            on_lost=self._lost,
        )

    def close(self) -> None:
        """Close the consumers and drop the partitions."""
        for owned in self.owned.values():
            owned.close()
        for replay in self.warm.values():
            replay.close()
        self.owned.clear()
        self.warm.clear()
        self.ownership.assigned = False
        self._closed = True
        self._aside.close()

    def know_progress(self, now: int) -> None:
        """Read the forwarder's offset in ``out``, and the worker's in ``in``.

        The offset in ``out`` is needed only for retries; the offset in ``in`` is needed only if a
        timer is due, because the removal of keys depends on it. When a stall ends, thousands of
        dialogs retry in turn. With an outdated offset, each of them would wait for another
        second, because its previous copy would still seem to be in ``out``.
        """
        clock = time.monotonic()
        due = [p for p in self.owned.values() if clock >= p.progress_at and p.needs_progress(now)]
        if not due:
            return
        out = self._cluster.topics.out(self._home)
        try:
            where = [TopicPartition(out, owned.number) for owned in due]
            offsets = {p.partition: p.offset for p in self._aside.committed(where, timeout=2)}
            for owned in due:
                self._mark_end(owned, now)
        except KafkaException as error:
            log.warning("%s: the forwarder's position is unknown: %s", self.ownership, error)
            self._stranded.look(False, self._aside)
            for owned in due:  # a thread that waits for the response cannot do anything else
                owned.progress_at = time.monotonic() + UNKNOWN
            return
        self._stranded.look(True)
        for owned in due:
            endpoint = owned.endpoint
            endpoint.left_out = max(endpoint.left_out, offsets[owned.number])
            owned.progress_at = clock + PROGRESS_EVERY

    def _mark_end(self, owned: Partition, now: int) -> None:
        """Read the end of ``in`` again once the worker has reached the previous end."""
        inbox = self.inputs.inbox
        if owned.reaches_mark(inbox):
            owned.mark = watermarks(self._aside, inbox, owned.number, timeout=2)[1], now
            owned.reaches_mark(inbox)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._closed:  # assigned while the worker leaves; the closing client does not respond
            consumer.assign([])
            return
        self.member = consumer.consumer_group_metadata()
        if not consumer.memberid():
            consumer.assign([])  # the member was declared dead during the assignment
            return
        if any(p.partition in self.warm for p in partitions):
            self._control.confirm_time()
        if partitions:
            self._partitions = len(partitions_of(self._cluster, self.inputs.cmd))
        by_number: dict[int, set[str]] = {}
        for p in partitions:
            by_number.setdefault(p.partition, set()).add(p.topic)
        starts: list[TopicPartition] = []
        for number, topics in sorted(by_number.items()):
            if topics != set(self.inputs):
                missing = sorted(set(self.inputs) - topics)
                raise SurroundingsError(
                    f"{self.ownership}: partition {number} was assigned without "
                    f"{', '.join(missing)}.",
                    "cmd, in and ack must have the same number of partitions.",
                )
            owned = self.owned[number] = self._restore(consumer, number)
            starts += [TopicPartition(t, number, o) for t, o in owned.positions.items()]
        consumer.assign(starts)
        self.ownership.assigned = True
        about = self._instance, self.ownership.of, self._described()
        ready.info("%s endpoint%s: ready, %s", *about)

    @property
    def dialogs(self) -> int:
        """Return the number of endpoints in all partitions; any thread may call this."""
        return sum(len(owned.endpoint.dialogs) for owned in list(self.owned.values()))

    def _described(self) -> str:
        return f"{counted(len(self.owned), 'partition')}, {counted(self.dialogs, 'dialog')}"

    def _restore(self, consumer: Consumer, number: int) -> Partition:
        started = time.monotonic()
        topics, inputs = self._cluster.topics, self.inputs
        endpoint, state = self._replayed(number)
        known = (state.cmd, state.inbox, state.ack) if state else (None, None, None)
        positions = {
            topic: start_position(consumer, self._aside, topic, number, position)
            for topic, position in zip(inputs, known, strict=True)
        }
        for lost in lost_bodies(endpoint, self._aside, inputs, number, [*positions.values()]):
            log.error("%s: %s", self.ownership, lost)
        backlog = {t: watermarks(self._aside, t, number)[1] for t in (inputs.inbox, inputs.ack)}
        # The position of a dialog's last copy is unknown, but is before the end of out.
        out_end = watermarks(self._aside, topics.out(self._home), number)[1]
        endpoint.dialogs.last_copy = out_end - 1
        endpoint.applied_until = 0
        log.info(
            "%s: partition %d has %d dialogs, restored in %.2f s",
            self.ownership,
            number,
            len(endpoint.dialogs),
            time.monotonic() - started,
        )
        share = self._cache_bytes // self._partitions
        bodies = Bodies.of(self._cluster, inputs.cmd, inputs.inbox, number, share, self._searches)
        # A partition keeps its allowance, because long transactions may have caused its revocation.
        allowance = self._allowances.setdefault(number, Allowance(self._most))
        ahead = LookAhead(self._cluster, inputs.inbox, number)
        return Partition(number, endpoint, bodies, ahead, positions, backlog, allowance)

    def _replayed(self, number: int) -> tuple[Endpoint, Positions | None]:
        """Return the current endpoints of a partition, and its offsets."""
        replay = self.warm.pop(number, None) or self.replay(number)
        self._finish(replay, number)
        if not replay.is_complete:
            log.warning(MISSED, replay)
            replay = self.replay(number)
            self._finish(replay, number)
        keep()
        return replay.endpoint, replay.positions

    def _finish(self, replay: Replay, number: int) -> None:
        try:
            replay.finish(watermarks(self._aside, replay.topic, number)[1])
        finally:
            replay.close()

    def replay(self, number: int) -> Replay:
        """Start to read the state of a partition."""
        endpoint = Endpoint(
            self._instance,
            self.ownership.catalog(),
            self._limits,
            Dialogs(unpack_dialog),
            fits=partial(self._is_in, number),
            new_id=uuid.uuid4,
            working=beat,
        )
        endpoint.advance(self._control.now())
        topic = self._cluster.topics.dialog(self._home)
        control = self._control
        return Replay(self._cluster, topic, number, endpoint, control.catch_up, control.now)

    def _is_in(self, number: int, conversation: uuid.UUID) -> bool:
        return partition_of(conversation, self._partitions) == number

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # No transaction is open between two turns, so there is nothing to finish.
        self._let_go(partitions)

    def _lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        log.warning("%s has lost its partitions", self.ownership)
        self._let_go(partitions)

    def _let_go(self, partitions: list[TopicPartition]) -> None:
        self.ownership.assigned = False
        for number in {p.partition for p in partitions}:
            owned = self.owned.pop(number, None)
            if owned is not None:
                owned.close()
