"""Statements that block a partition of ``cmd``, because their schema is unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from streams.kafka import (
    Cluster,
    Message,
    TopicPartition,
    headers_of,
    read_begins,
    read_ends,
    read_from,
    read_notes_of,
)
from streams.wire import MalformedError, UnknownSchemaError
from streams.wire.records import is_moved, read_command


class UnreadableStatement(NamedTuple):
    """A statement that blocks an endpoint worker; ``topic`` is without the prefix."""

    instance: str
    topic: str
    partition: int
    offset: int
    why: str

    @property
    def place(self) -> str:
        """Return the statement's place, as ``hopline skip`` expects it."""
        return f"{self.topic}/{self.partition}@{self.offset}"

    @property
    def remedy(self) -> str:
        """Return the remedy that unblocks the partition."""
        return (
            "Run the `hopline apply TOPOLOGY` of the version that wrote it, or skip it: "
            f"hopline skip {self.place}."
        )

    def __str__(self) -> str:
        return (
            f"Partition {self.partition} of {self.topic} ({self.instance}) is blocked at offset "
            f"{self.offset}: {self.why}."
        )


def find_held_back(cluster: Cluster, homes: Sequence[str]) -> tuple[UnreadableStatement, ...]:
    """Return the first undecodable statement after each endpoint worker's position.

    ``homes``: instances and mirrored pairs. The catalog, which contains the schemas, must have been
    read in this process. A worker that is behind, or stopped, may not have reached the statement
    yet.
    """
    topics = cluster.topics
    groups = {topics.cmd(home): f"{topics.prefix}endpoint.{home}" for home in homes}
    ends, begins = read_ends(cluster, list(groups)), read_begins(cluster, list(groups))
    notes = read_notes_of(cluster, groups.values())
    found: list[UnreadableStatement] = []
    for home, (topic, group) in zip(homes, groups.items(), strict=True):
        for (_, partition), end in _of(ends, topic):
            position, _ = notes[group].get((topic, partition), (-1, ""))
            at = max(position, begins[topic, partition])
            first = find_unreadable(cluster, topic, partition, at) if at < end else None
            if first is not None:
                found.append(
                    UnreadableStatement(home, topic.removeprefix(topics.prefix), partition, *first)
                )
    return tuple(found)


def _of(ends: Mapping[tuple[str, int], int], topic: str) -> Iterator[tuple[tuple[str, int], int]]:
    return ((place, end) for place, end in sorted(ends.items()) if place[0] == topic)


def find_unreadable(
    cluster: Cluster, topic: str, partition: int, offset: int
) -> tuple[int, str] | None:
    """Return the offset and error of the first statement from an offset on, if it is undecodable.

    Returns ``None`` if there is no statement, or if the first statement is decodable or is invalid
    in any version.
    """
    # A fetcher would wait for a record if the log has no records, or only aborted records.
    reading = read_from(cluster, [TopicPartition(topic, partition, offset)])
    try:
        first = next(reading, None)
    finally:
        reading.close()  # type: ignore[attr-defined] # a generator, which closes its consumer
    why = None if first is None else _unreadable(first)
    return None if first is None or why is None else (first.offset() or 0, why)


def _unreadable(record: Message) -> str | None:
    """Return why a statement cannot be decoded; ``None`` if it can, or is always invalid."""
    try:
        headers = headers_of(record)
        if not is_moved(headers):
            read_command(record.key(), record.value(), headers, record.timestamp()[1])
    except UnknownSchemaError as error:
        return str(error)
    except MalformedError:
        return None
    return None
