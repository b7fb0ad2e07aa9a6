"""The progress of a forwarder in each partition, and its committed offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from streams.kafka import TopicPartition, closed, note_of
from streams.wire.spans import spans_in

Where = tuple[str, int]
"""A topic and a partition number."""
Position = tuple[str, int, int]
"""Topic, partition and offset of a record."""


class OffsetTracker:
    """Offsets before which all records are done, with notes about buffered copies (``spans``)."""

    def __init__(self) -> None:
        self._offsets: dict[Where, int] = {}
        self._known: dict[Where, tuple[int, str]] = {}

    def begin(self, known: Iterable[TopicPartition]) -> None:
        """Start to track partitions with their committed offsets; some may not have one."""
        for p in known:
            if p.offset >= 0:
                self._offsets[p.topic, p.partition] = p.offset
                self._known[p.topic, p.partition] = p.offset, note_of(p)

    def note(self, where: Where, position: int) -> None:
        """Record that all records before an offset have been processed."""
        self._offsets[where] = max(position, self._offsets.get(where, 0))

    def due(
        self, unfinished: Iterable[Position], notes: Mapping[Where, str]
    ) -> list[TopicPartition]:
        """Return the offsets to commit, which are never beyond an unfinished record.

        ``notes`` lists the buffered copies of each partition as text.
        """
        lowest: dict[Where, int] = {}
        for topic, partition, offset in unfinished:
            lowest[topic, partition] = min(offset, lowest.get((topic, partition), offset))
        found = []
        for place, position in self._offsets.items():
            now = min(position, lowest.get(place, position)), notes.get(place, "")
            if now != self._known.get(place):
                found.append(TopicPartition(*place, now[0], closed(now[1])))
        return found

    def trim_points(self) -> dict[Where, int]:
        """Return the committed offsets, or lower offsets of buffered copies. Thread-safe."""
        return {
            place: min((position, *(span[0] for span in spans_in(note))))
            for place, (position, note) in list(self._known.items())
        }

    def committed(self, partitions: Iterable[TopicPartition]) -> None:
        """Record that these offsets are committed, except offsets of forgotten partitions."""
        for p in partitions:
            if (p.topic, p.partition) not in self._offsets:
                continue
            self._known[p.topic, p.partition] = p.offset, note_of(p)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Drop partitions that another worker owns now."""
        for p in partitions:
            self._offsets.pop((p.topic, p.partition), None)
            self._known.pop((p.topic, p.partition), None)
