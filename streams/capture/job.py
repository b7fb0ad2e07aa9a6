"""A replay's job: records and progress, committed together.

A job is a name and a plan: items in a reproducible order. Its position, the number of settled
items, is an offset that is committed in one Kafka transaction with the records
(docs/decisions/0017). So a resumed job continues after the last committed record, and nothing is
produced twice, even if a process is killed after any of these steps::

    1. begin, produce a batch      Kafka aborts: the same batch again
    2. send the position           as after 1
    3. commit                      the batch is stored, and the position is after it

Kafka deletes offsets of a group without members after a week. So a job also has a record in
``reading.<instance>``, which is written before its first batch and after its first offset. A job
with that record but without an offset is rejected.

The transactional id belongs to the job. A process that resumes a job aborts the open transaction of
its predecessor and fences it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from streams.client.readings import Readings
from streams.errors import SurroundingsError, UsageError
from streams.kafka import (
    AbortedError,
    Cluster,
    KafkaException,
    Outgoing,
    TopicPartition,
    Transactor,
    closed,
    note_of,
    while_coordinator_moves,
)
from streams.prose import counted

__all__ = ["Job", "RejectedItem", "Standing", "demand_name", "standing_of"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_AGAIN = 0.2
_TRIES = 3
"""Maximum number of attempts for a transaction after transient aborts."""


class Standing(NamedTuple):
    """The progress of a job: settled items, the number of rejected items, its start (epoch ms)."""

    position: int
    refused: int
    began: int


class RejectedItem(NamedTuple):
    """An item that Kafka permanently rejects: its place in the batch (from 0), and the reason."""

    item: int
    reason: str


def standing_of(position: int, note: str, plan: str, job: str) -> Standing:
    """Return the progress of a job, from its offset and the note stored with it.

    Raises UsageError if the note belongs to another plan, or not to a job.
    """
    try:
        fields = json.loads(note)
        if fields["plan"] == plan:
            return Standing(position, int(fields["refused"]), int(fields["began"]))
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        pass  # a foreign note
    raise UsageError(
        f"The job {job} already exists with another capture or other options.",
        "Choose another --job name, or repeat the original capture and options.",
    )


def demand_name(name: str) -> str:
    """Return the name of a job; raise UsageError for an invalid name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' is not a valid job name.",
            "Use up to 100 letters, digits, '.', '_' and '-', beginning with a letter or a digit.",
        )
    return name


class Job:
    """Produce each item of a plan once, in order. For use by one thread.

    ``plan`` is a short text that identifies the plan; ``anchor`` is a topic of the cluster for the
    position, and must not change when the job is resumed; ``now`` is in epoch milliseconds. An
    existing job is resumed; ``standing`` is its progress. Raises UsageError if the name belongs to
    another plan, and SurroundingsError if Kafka does not respond or has lost the progress. A loss
    is detected only for jobs with an ``instance``, to which ``anchor`` belongs.
    """

    def __init__(
        self,
        cluster: Cluster,
        name: str,
        *,
        plan: str,
        anchor: str,
        now: int,
        instance: str | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.name, self._plan, self._timeout = demand_name(name), plan, timeout
        self._cluster = cluster
        self._mark = TopicPartition(anchor, 0)
        # This order is needed: Kafka has the final progress only when no other process can commit.
        self._transactor = Transactor(cluster, f"replay.{name}", timeout=timeout)
        self._observer = cluster.consumer(f"{cluster.topics.prefix}replay.{name}")
        group = f"{cluster.topics.prefix}replay.{name}"
        self._readings = instance and Readings(cluster, instance, anchor, group)
        known = self._known()
        if known is None:
            self._refuse_forgotten()
        self.resumed = self._is_kept = known is not None
        self.standing = known or Standing(0, 0, now)

    def _refuse_forgotten(self) -> None:
        before = self._readings and self._readings.known([0]).get(0)
        if before:
            settled = counted(before.position, "record was", "records were")
            raise SurroundingsError(
                f"The job {self.name} was started, but Kafka has lost its progress. At "
                f"{before.when}, {settled} settled; there may be more by now.",
                "To send everything again in new conversations, choose another --job name.",
            )

    def _known(self) -> Standing | None:
        mark = self._mark_kept()
        note = note_of(mark)
        if mark.offset < 0 or not note:
            return None
        return standing_of(mark.offset, note, self._plan, self.name)

    def _mark_kept(self) -> TopicPartition:
        try:
            [mark] = while_coordinator_moves(
                lambda: self._observer.committed([self._mark], timeout=self._timeout),
                self._timeout,
                lambda: self._observer.poll(_AGAIN),  # serves the client's callbacks
            )
        except KafkaException as error:
            raise self._cluster.unreachable(error, self._timeout) from error
        return mark

    def commit(self, records: Sequence[Outgoing]) -> list[RejectedItem]:
        """Produce the next items, one record each; return the items that Kafka permanently rejects.

        A rejected record is skipped, and its neighbours are delivered. Raises FencedError if
        another process has resumed the job, and other SurroundingsErrors if Kafka is unavailable;
        ``standing`` is then the progress that was certainly committed.
        """
        try:
            self._commit(records)
        except AbortedError as error:
            if not error.refused:
                raise
            if len(records) > 1:
                half = len(records) // 2
                first, second = self.commit(records[:half]), self.commit(records[half:])
                return [*first, *(RejectedItem(n + half, reason) for n, reason in second)]
            self._commit((), passed=1)
            return [RejectedItem(0, error.refused)]
        return []

    def _commit(self, records: Sequence[Outgoing], *, passed: int = 0) -> None:
        if not self._is_kept:  # so that every job with a record has had an offset
            self._keep((), self.standing)
            self._is_kept = True
        position, refused, began = self.standing
        if self._readings:
            self._readings.note({0: position})
        self._keep(records, Standing(position + len(records) + passed, refused + passed, began))

    def _keep(self, records: Sequence[Outgoing], after: Standing) -> None:
        fields = {"plan": self._plan, "refused": after.refused, "began": after.began}
        mark = TopicPartition(self._mark.topic, 0, after.position, closed(json.dumps(fields)))
        member = self._observer.consumer_group_metadata()
        for attempt in range(1, _TRIES + 1):
            try:
                self._transactor.commit(records, [mark], member)
                break
            except AbortedError as error:
                if error.refused or attempt == _TRIES:
                    raise
        self.standing = after

    def close(self) -> None:
        """Close the producer."""
        self._observer.close()
