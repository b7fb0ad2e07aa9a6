"""Verify in this process, without starting Java."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from streams.capture import CaptureReader
from streams.kafka import Cluster, Message, Spans, headers_of
from streams.live.engines.dialogs import Dialogs
from streams.live.engines.engine import CaptureSource, ClusterSource, Positions, Source
from streams.live.engines.latest_states import BUDGET, LatestStates
from streams.report.account import Account, Judge
from streams.report.read import digest_of
from streams.report.record_reader import DialogPart, Record, RecordReader
from streams.report.snapshot import Range
from streams.wire import MalformedError
from streams.wire.state_keys import POSITIONS_KEY
from streams.workers.collector import collecting_rarely


class LocalEngine:
    """Read one source at a time; the parts of dialogs are kept in memory, or on disk.

    State is read first, and only once if its latest records have at most ``state_budget`` bytes.
    """

    name = "local"

    def __init__(self, state_budget: int = BUDGET) -> None:
        self._state_budget = state_budget
        self._states: dict[tuple[str, str], LatestStates] = {}
        """The state records that the survey has read, by address and prefix."""

    def survey_cluster(
        self, cluster: Cluster, ranges: Mapping[tuple[str, int], Range]
    ) -> Positions:
        """Return the latest positions; in a compacted topic, only the latest record is valid."""
        found: Positions = dict.fromkeys(ranges)
        states = LatestStates(self._state_budget)
        self._states[cluster.bootstrap, cluster.topics.prefix] = states
        with collecting_rarely():
            for message in _messages(cluster, ranges):
                states.add(message)
                if message.key() == POSITIONS_KEY:
                    found[message.topic() or "", message.partition() or 0] = message.value()
        return found

    def survey_capture(self, capture: CaptureReader) -> Positions:
        """Return the latest positions by their offsets, regardless of their order in the file."""
        found, at = Positions(), dict[tuple[str, int], int]()
        for record in capture:
            place = record.topic, record.partition
            found.setdefault(place, None)
            if record.key == POSITIONS_KEY and record.offset >= at.get(place, 0):
                found[place], at[place] = record.value, record.offset
        return found

    def judge(self, sources: Sequence[Source], judge: Judge) -> Account:
        """Read all records, then judge the dialogs one by one."""
        with collecting_rarely(), Dialogs() as dialogs:
            for source in sources:
                for dialog, part in self._parts(source):
                    dialogs.add(dialog, part)
            return judge.judge(dialogs.grouped())

    def _parts(self, source: Source) -> Iterator[DialogPart]:
        if isinstance(source, ClusterSource):
            return self._of_cluster(source)
        return _of_files(source)

    def _of_cluster(self, source: ClusterSource) -> Iterator[DialogPart]:
        reader, ranges = source.reader(), source.ranges
        states = self._states[source.cluster.bootstrap, source.prefix].records()
        if states is not None:
            state = source.cluster.topics.dialog("")
            ranges = {place: r for place, r in ranges.items() if not place[0].startswith(state)}
            for message in states:
                yield from _of_message(reader, message, source.prefix)
        for message in _messages(source.cluster, ranges):
            yield from _of_message(reader, message, source.prefix)


def _of_files(source: CaptureSource) -> Iterator[DialogPart]:
    for file in source.files:
        reader = source.reader()  # a new reader, because another file may have older records
        for r in file:
            digest = _digest(r.topic, r.value, source.prefix)
            size = len(r.value or b"")
            yield from reader.read_fields(
                r.topic, r.partition, r.offset, r.timestamp, r.key, r.headers, r.value, digest, size
            )


def _of_message(reader: RecordReader, message: Message, prefix: str) -> Iterator[DialogPart]:
    try:
        headers = headers_of(message)
    except MalformedError:
        return iter(())  # Hopline has not written this record
    topic, value, key = message.topic() or "", message.value(), message.key()
    return reader.read_record(
        Record(
            topic,
            message.partition() or 0,
            message.offset() or 0,
            message.timestamp()[1],
            key if isinstance(key, bytes) else None,
            headers,
            value,
            _digest(topic, value, prefix),
            len(message),
        )
    )


def _digest(topic: str, value: bytes | None, prefix: str) -> bytes:
    """Return the digest of a body; empty for topics other than command and queue topics."""
    has_body = topic.startswith((f"{prefix}cmd.", f"{prefix}queue."))
    return digest_of(value or b"") if has_body else b""


def _messages(cluster: Cluster, ranges: Mapping[tuple[str, int], Range]) -> Iterator[Message]:
    if not ranges:
        return
    begins = {place: begin for place, (begin, _) in ranges.items()}
    ends = {place: end for place, (_, end) in ranges.items()}
    spans = Spans(cluster, begins, ends, name="reader")
    try:
        while not spans.done:
            yield from spans.read()
    finally:
        spans.close()
