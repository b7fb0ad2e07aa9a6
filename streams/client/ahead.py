"""Read ahead in a queue topic as a member of a consumer group, by partition.

A queue topic is keyed by conversation group, so the owner of a partition holds the locks of its
groups. A few hundred messages of each partition are buffered, and the next message is chosen from
them. Messages are not received in topic order. So the committed offset does not identify all
received messages; the offset's metadata lists the messages received after it.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Mapping
from typing import Any

from streams.client.begin import Beginning
from streams.client.partition_ahead import HOLDER, Ahead, most_bytes
from streams.client.read_errors import missing, permanent
from streams.errors import HoplineError, SurroundingsError
from streams.kafka import (
    Cluster,
    Commits,
    ConsumerHealth,
    KafkaError,
    KafkaException,
    Message,
    Returning,
    TopicPartition,
    closed,
    headers_of,
    note_of,
    size_of,
)
from streams.node import Progress, ReadyQueue, ReadyRow
from streams.node.queue import POISON
from streams.wire import MalformedError
from streams.wire.records import priority_of, read_queued

log = logging.getLogger("hopline.client")

_TAKEN = 8
"""Messages per poll; limits may be exceeded by up to this number."""
_FETCHED: Mapping[str, Any] = {"fetch_message_max_bytes": 65_536, "enable_partition_eof": True}
"""The prefetch of Kafka's client. A fetch may grow by a factor of 255 when lz4 is decompressed."""
_REPORTED = 100
"""Maximum number of errors about unreadable records to raise later; further errors are logged."""
_PATIENCE = 30.0
"""Timeout in seconds for reading committed offsets."""
_SLICE = 1.0
"""Maximum duration of a poll in seconds; an error during an assignment is raised afterwards."""


class ReadAhead:
    """Read a queue's topic as a member of an application's group.

    ``broken`` contains the errors of records that are not queue messages; these records count as
    received. ``bereft``: a partition with received but uncommitted messages was reassigned to
    another member.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        group: str,
        member: str | None,
        beginning: Beginning,
    ) -> None:
        self.topic, self._beginning = topic, beginning
        self.partitions: dict[int, Ahead] = {}
        self.broken: list[MalformedError] = []
        self.bereft = False
        self._leaving = False
        self._over: HoplineError | None = None
        self._told: set[int] = set()
        named: dict[str, Any] = {} if member is None else {"group_instance_id": member}
        self._health = ConsumerHealth(cluster)
        self._consumer = cluster.consumer(group, stats=self._health.report, **_FETCHED, **named)
        self._returning, self._is_dealt = Returning(cluster, group, member), False
        self._commits, self._begun = Commits(self._consumer), dict[int, Progress]()
        self._join()

    def _join(self) -> None:
        self._consumer.subscribe(
            [self.topic], on_assign=self._assigned, on_revoke=self._gone, on_lost=self._gone
        )

    def close(self) -> None:
        """Leave the group."""
        self._leaving = True  # offsets of a partition assigned during leaving cannot be read
        if not self._commits.is_stuck:  # otherwise closing would wait, possibly forever
            self._consumer.close()

    @property
    def member(self) -> Any:
        """Return the consumer group metadata of this member, for a transaction."""
        return self._consumer.consumer_group_metadata()

    def read(self, timeout: float) -> None:
        """Read ahead; wait only for the first record, and at most one second.

        Raises SurroundingsError if the topic does not exist, if the user is not authorized for it
        or for the group, if Kafka does not return the committed offsets, or if an earlier commit
        still waits for Kafka. Raises PositionLostError if the offsets are lost, and FencedError if
        Kafka no longer accepts this member. All errors except a missing topic and a waiting commit
        are permanent: the client reports each of them only once, and would then block forever.
        """
        if self._over is not None:
            raise self._over
        if self._commits.is_stuck:  # until then, any use of the consumer would wait
            text = f"{self.topic}: an earlier commit is still waiting for Kafka."
            raise SurroundingsError(text, "Receive again later.")
        try:
            paused = [(self.topic, n) for n, p in self.partitions.items() if p.paused]
            self._health.look(bool(self.partitions), self._consumer, paused=paused)
        except SurroundingsError as lost:
            self._over = lost
            raise
        self._pace()
        first = self._consumer.poll(min(timeout, _SLICE))
        self._commit_begun()
        if self._is_dealt and not self._is_held() and self._returning.finds_idle([self.topic]):
            if first is not None and first.error() is None:
                first = None  # this record will be read again
            self._consumer.unsubscribe()
            self._join()
        while first is not None:
            # Take the record before the next read: a read can trigger a rebalance, which drops the
            # records of its partition.
            failed = [self._take(first)]
            failed += map(self._take, self._consumer.consume(_TAKEN, 0))
            # raise only when all records that were read have been processed
            for error in filter(None, failed):
                raise error
            if self.broken:  # report broken records first, as any number may follow
                break
            self._pace()
            first = self._consumer.poll(0)
        self._commit_begun()
        if self._over is not None:
            raise self._over

    @property
    def is_complete(self) -> bool:
        """Return whether waiting is pointless: all records are read, or no more records fit.

        Waiting is also pointless for a member without partitions.
        """
        return self._is_dealt and all(p.at_end or p.paused for p in self.partitions.values())

    def _is_held(self) -> bool:
        """Return whether a received message is neither committed nor rolled back."""
        return any(p.queue.holds(HOLDER) for p in self.partitions.values())

    def store(self) -> None:
        """Commit the received messages."""
        behind = {n: p.queue.progress for n, p in self.partitions.items()}
        behind = {n: p for n, p in behind.items() if p != self.partitions[n].stored}
        if not behind:
            return
        self.note(behind)
        try:
            self._commits.commit(self.offsets(behind))
        except KafkaException as error:
            raise SurroundingsError(
                f"{self.topic}: received messages were not committed: {error.args[0].str()}.",
                "They may be redelivered.",
            ) from error
        self.stored(behind)

    def note(self, progress: Mapping[int, Progress]) -> None:
        """Record, before a commit, that the group receives messages; raises AbortedError."""
        self._commit_begun()
        stored = {n: self.partitions[n].stored for n in progress}
        took = [n for n, p in progress.items() if p.received != stored[n].received]
        self._beginning.note({n: stored[n].next for n in took})

    def offsets(self, progress: Mapping[int, Progress]) -> list[TopicPartition]:
        """Return the offsets to commit, for the partitions that have progressed."""
        return [
            TopicPartition(self.topic, n, p.next, closed(p.encode())) for n, p in progress.items()
        ]

    def stored(self, progress: Mapping[int, Progress]) -> None:
        """Record that Kafka has the commit, so the received messages can be dropped."""
        for number, stored in progress.items():
            partition = self.partitions[number]
            partition.stored = stored
            partition.forget(stored)

    # --- records ---------------------------------------------------------------------------------

    def _pace(self) -> None:
        """Pause partitions in which enough messages are buffered to choose from."""
        most = most_bytes(len(self.partitions))
        for number, partition in self.partitions.items():
            full = partition.is_full(most)
            if full != partition.paused:
                what = [TopicPartition(self.topic, number)]
                (self._consumer.pause if full else self._consumer.resume)(what)
                partition.paused = full

    def _take(self, message: Message) -> HoplineError | None:
        """Buffer a consumed record, or return the error if the message has no record."""
        error = message.error()
        is_end = error is not None and error.code() == KafkaError._PARTITION_EOF
        if error is not None and not is_end:
            return self._failure(error)
        number, order = message.partition(), message.offset()
        assert number is not None and order is not None
        partition = self.partitions.get(number)
        if partition is None:  # another member of the group owns the partition now
            return None
        partition.at_end = is_end
        if is_end:
            return None
        try:
            headers = headers_of(message)
            frame = read_queued(message.value(), headers)
            group = uuid.UUID((message.key() or b"").decode("ascii"))
            priority = priority_of(headers)
        except (MalformedError, ValueError) as broken:
            self._report(MalformedError(f"{self.topic}/{number}@{order}: {broken}"))
            partition.queue.skip(order)
            return None
        side = (frame.conversation, not frame.parties.from_initiator)
        row = ReadyRow(order, group, side, frame.header.type, priority)
        partition.put(row, frame, size_of(message))
        return None

    def _report(self, broken: MalformedError) -> None:
        if len(self.broken) < _REPORTED:
            self.broken.append(broken)
        else:
            log.warning("%s", broken)

    def _failure(self, error: KafkaError) -> HoplineError | None:
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return missing(self.topic)
        over = permanent(self.topic, error)
        if over is not None:
            self._over = over
        elif error.code() not in self._told:  # maybe transient: Kafka's client retries
            self._told.add(error.code())
            log.warning("%s: %s", self.topic, error.str())
        return self._over

    # --- partitions ------------------------------------------------------------------------------

    def _assigned(self, _: Any, partitions: list[TopicPartition]) -> None:
        self._is_dealt = True
        found: dict[int, Progress] = {}
        try:
            found = {} if self._leaving else self._find_progress(partitions)
        except HoplineError as error:
            self._over = error
        except KafkaException as error:
            self._over = SurroundingsError(
                f"{self.topic}: Kafka does not return the committed offsets: "
                f"{error.args[0].str()}.",
                "Create a new reader.",
            )
        for number, stored in found.items():
            queue = ReadyQueue(stored)
            # the rollbacks had disabled the queue, which has been enabled again
            if stored.rollbacks >= POISON:
                queue.turn_on()
            self.partitions[number] = Ahead(queue, stored)
        self._consumer.assign([TopicPartition(self.topic, n, p.next) for n, p in found.items()])

    def _find_progress(self, partitions: list[TopicPartition]) -> dict[int, Progress]:
        """Return the committed progress, or the start position where there is none."""
        known = self._consumer.committed(partitions, timeout=_PATIENCE)
        at = self._beginning.positions({p.partition: p.offset for p in known})
        new = {p.partition: Progress(at[p.partition]) for p in known if at[p.partition] != p.offset}
        self._begun |= new
        return {p.partition: Progress.decode(p.offset, note_of(p)) for p in known} | new

    def _commit_begun(self) -> None:
        """Commit the start positions where there was no offset, before any message is received."""
        if not self._begun:
            return
        try:
            self._commits.commit(self.offsets(self._begun))
        except KafkaException as error:
            self._over = SurroundingsError(
                f"{self.topic}: the start position was not committed: {error.args[0].str()}.",
                "Create a new reader.",
            )
            raise self._over from error
        self._begun.clear()

    def _gone(self, _: Any, partitions: list[TopicPartition]) -> None:
        """Drop the buffered messages of revoked partitions; other members will read them again."""
        self._is_dealt = False  # until the group has reassigned the partitions
        for partition in partitions:
            self._begun.pop(partition.partition, None)
            gone = self.partitions.pop(partition.partition, None)
            self.bereft = self.bereft or (gone is not None and gone.queue.holds(HOLDER))
