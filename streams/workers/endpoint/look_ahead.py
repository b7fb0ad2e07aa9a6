"""Read the messages of new dialogs ahead of a backlog of ``in`` (decision 45).

A partition of ``in`` is one log, so after an absence of the worker, all copies that arrived earlier
precede a new dialog's first message. Therefore, a second consumer reads from the end of the log,
and a transaction applies such a record if it is the next message of its dialog. Any other record
waits until its offset is reached, because the messages before it may be in the backlog.

An early record does not change the committed position. When the position reaches the record, it is
skipped. If the worker has restarted in the meantime, it no longer knows that the record was
applied, and handles it like any other duplicate.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from streams.kafka import GATHERED, Cluster, Consumer, Message, TopicPartition, take_more
from streams.node import Transaction
from streams.protocol import Message as Frame

log = logging.getLogger("hopline.endpoint")

FAR = 20_000
"""Number of unread records, about a second of work, above which the worker reads ahead."""
MOST_AT_ONCE = 5_000
"""Maximum number of records that are read ahead for one transaction; most are only decoded."""
MOST_APPLIED = 50_000
"""Maximum number of records that were applied early and have not been reached yet."""

Stream = tuple[uuid.UUID, bool]
"""A conversation, and whether its messages are from the initiator."""


@dataclass(slots=True)
class Early:
    """The records that one transaction has applied early, and those that it has skipped."""

    applied: set[int] = field(default_factory=set)
    skipped: set[int] = field(default_factory=set)
    streams: set[Stream] = field(default_factory=set)

    def add(self, offset: int, frame: Frame) -> None:
        """Add a record that was applied early."""
        self.applied.add(offset)
        self.streams.add((frame.conversation, frame.parties.from_initiator))


class LookAhead:
    """The second reader of a partition of ``in``."""

    def __init__(self, cluster: Cluster, topic: str, partition: int) -> None:
        self._cluster, self._topic, self._partition = cluster, topic, partition
        self._consumer: Consumer | None = None
        self._pending: list[Message] = []
        self._applied: set[int] = set()
        self._streams: set[Stream] = set()
        self._given_up = False

    @property
    def reads(self) -> bool:
        """Return whether records are read ahead."""
        return self._consumer is not None

    def follow(self, position: int, end: int) -> None:
        """Read ahead while the position is far from the end, which is as of the last fetch."""
        if end - position < (FAR // 2 if self.reads else FAR):
            self._given_up = False
            self.close()
        elif not self.reads and not self._given_up and len(self._applied) < MOST_APPLIED // 2:
            log.info(
                "%s/%d: %d records are waiting, so messages of new dialogs are read ahead",
                self._topic, self._partition, end - position,
            )  # fmt: skip
            self._consumer = self._cluster.consumer(
                f"{self._cluster.topics.prefix}fetcher", **GATHERED
            )
            self._consumer.assign([TopicPartition(self._topic, self._partition, end)])

    def take(self, most: int) -> list[Message]:
        """Return available records: at most half of ``most``, the size of a transaction."""
        if self._consumer is None:
            return []
        if len(self._applied) >= MOST_APPLIED:
            self.close()
            return []
        most = min(MOST_AT_ONCE, most // 2)
        found = self._pending  # may be as large as the client's limit, so no more are read
        if not found:
            found = [m for m in take_more(self._consumer, most) if m.error() is None]
        self._pending = found[most:]
        return found[:most]

    def put_back(self, messages: Sequence[Message]) -> None:
        """Return records that were not applied."""
        if self.reads:
            self._pending = [*messages, *self._pending]

    def is_wanted(self, tx: Transaction, early: Early, offset: int, frame: Frame) -> bool:
        """Return whether to apply a record early: it must be the next message of a new dialog.

        A retry of a first message is not applied early, because an earlier copy may be in the
        backlog. If the retry were acknowledged, the sender would conclude that the earlier copy and
        all messages sent with it are lost, and would send them again.
        """
        if offset in self._applied or not frame.header.sequenced:
            return False
        stream = frame.conversation, frame.parties.from_initiator
        begins = frame.header.at == (0, 0) and not frame.journey.attempt
        is_new = begins or stream in early.streams or stream in self._streams
        return is_new and tx.is_next(frame)

    def has(self, offset: int) -> bool:
        """Return whether a record was applied early, in a committed transaction."""
        return offset in self._applied

    def merge(self, early: Early) -> None:
        """Merge the records of a committed transaction."""
        self._applied |= early.applied
        self._applied -= early.skipped
        if len(self._streams) >= MOST_APPLIED:
            self._streams.clear()  # their later messages wait until they are reached
        if self.reads:
            self._streams |= early.streams

    def give_up(self) -> None:
        """Stop reading ahead for this backlog, because an early record may have failed."""
        self._given_up = True
        self.close()

    def close(self) -> None:
        """Close the consumer; records that were applied early are still skipped."""
        self._pending.clear()
        self._streams.clear()
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
