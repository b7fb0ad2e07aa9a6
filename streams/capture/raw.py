"""Restore records exactly: topic, partition, key, headers, value, and timestamp.

Records are written into empty topics, so that a new capture has the same records in the same order
within each partition. Only two properties differ: offsets, because transaction markers also take
offsets, and the timestamps of topics with LogAppendTime. Records about the running cluster are left
out: its ``catalog`` (written by ``hopline apply``), heartbeats, and metrics.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from streams.capture.container import CaptureReader
from streams.capture.job import Job
from streams.capture.manifest import digest
from streams.capture.record import Record, TimestampType
from streams.capture.schedule import renamed
from streams.errors import SurroundingsError, UsageError
from streams.kafka import Cluster, Outgoing, read_begins, read_highs
from streams.kafka.listing import topic_names
from streams.prose import counted

LEFT_OUT = ("catalog", "presence", "metric")
_RECORDS, _BYTES = 5_000, 4 << 20
"""Maximum records of a transaction, and the bytes of keys and values at which it ends."""


@dataclass(frozen=True, slots=True)
class RawPlan:
    """The plan of a restore: the records and the highest partition of each topic, by its new name.

    ``stamped`` counts the records that get a new timestamp from their topic, ``left`` the omitted
    records by topic. ``name`` identifies the capture and the prefix.
    """

    name: str
    topics: dict[str, int]
    partitions: dict[str, int]
    stamped: int
    left: dict[str, int]

    @property
    def records(self) -> int:
        """Return the number of records to restore."""
        return sum(self.topics.values())


@dataclass(frozen=True, slots=True)
class PutBack:
    """The result: ``done`` records of the plan are settled; Kafka rejected ``refused`` of them."""

    done: int
    now: int
    refused: tuple[tuple[Record, str], ...]
    stopped: bool


def plan_raw(reader: CaptureReader, to_prefix: str) -> RawPlan:
    """Read a capture to its end to detect damage, and count the records to restore."""
    prefix = reader.metadata.prefix
    topics: Counter[str] = Counter()
    left: Counter[str] = Counter()
    partitions: dict[str, int] = {}
    stamped, outside = 0, _left_out(prefix)
    for record in reader:
        if record.topic in outside:
            left[record.topic] += 1
            continue
        topic = renamed(record.topic, prefix, to_prefix)
        topics[topic] += 1
        partitions[topic] = max(partitions.get(topic, 0), record.partition)
        stamped += record.timestamp_type is TimestampType.LOG_APPEND_TIME
    return RawPlan(_name(reader, to_prefix), dict(topics), partitions, stamped, dict(left))


def _left_out(prefix: str) -> frozenset[str]:
    """Return the topics whose records describe a running cluster and are not traffic."""
    return frozenset(prefix + kind for kind in LEFT_OUT)


def _name(reader: CaptureReader, to_prefix: str) -> str:
    found = hashlib.sha256(to_prefix.encode())
    for file in reader.files:
        found.update(digest(file).encode())
    return f"raw {found.hexdigest()[:32]}"


def demand_room(cluster: Cluster, plan: RawPlan, *, resumed: bool) -> None:
    """Raise an error unless all topics have their partitions and, if not resumed, are empty.

    Raises SurroundingsError if a topic is missing or has too few partitions, UsageError if a topic
    already has records.
    """
    existing = topic_names(cluster)
    for topic, highest in sorted(plan.partitions.items()):
        if existing.get(topic, 0) <= highest:
            count = existing.get(topic)
            has = f"has {counted(count, 'partition')}" if count else "does not exist"
            raise SurroundingsError(
                f"Topic {topic} {has}, but records belong to partition {highest}.",
                "Run 'hopline apply TOPOLOGY' to create it as in the capture.",
            )
    if resumed:
        return
    begins, highs = (read(cluster, sorted(plan.topics)) for read in (read_begins, read_highs))
    used = sorted(place for place, high in highs.items() if high > begins[place])
    if used:
        topic, partition = used[0]
        more = f" ({len(used) - 1} more like this)" if used[1:] else ""
        raise UsageError(
            f"{topic}/{partition} already has records{more}; records can be restored only into "
            "empty topics.",
            "Choose another cluster or another --prefix, or use --job to resume the job that wrote "
            "these records.",
        )


def put_back(
    reader: CaptureReader,
    job: Job,
    to_prefix: str,
    *,
    stopped: Callable[[], bool] = lambda: False,
    report: Callable[[int], None] = lambda _: None,
) -> PutBack:
    """Produce the unsettled records, in the order of the capture; ``report`` gets the progress.

    A record and the position after it are committed together, so no record is duplicated, no matter
    which process is killed, and when.
    """
    began = job.standing.position
    refused: list[tuple[Record, str]] = []
    prefix = reader.metadata.prefix
    outside = _left_out(prefix)
    meant = (record for record in reader if record.topic not in outside)
    for batch in _batches(islice(meant, began, None)):
        if stopped():
            break
        outgoing = [_outgoing(record, prefix, to_prefix) for record in batch]
        refused += ((batch[number], reason) for number, reason in job.commit(outgoing))
        report(job.standing.position)
    done = job.standing.position
    return PutBack(done, done - began, tuple(refused), stopped())


def _outgoing(record: Record, prefix: str, to_prefix: str) -> Outgoing:
    own = record.timestamp_type is TimestampType.CREATE_TIME and record.timestamp > 0
    return Outgoing(
        renamed(record.topic, prefix, to_prefix), record.key, record.value, list(record.headers),
        record.partition, record.timestamp if own else 0,
    )  # fmt: skip


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record.value or b"") + len(record.key or b"")
        if len(batch) == _RECORDS or size >= _BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


__all__ = ["LEFT_OUT", "PutBack", "RawPlan", "demand_room", "plan_raw", "put_back"]
