"""Restore a partition's endpoints from the ``dialog`` topic (docs/kafka_mapping.md, rule 3).

Committed offsets can expire when a group has had no member for a week. So the offsets are also
written as a state record, in the same transaction as all other records; the higher offset is used.
The state ends at the *high watermark* as of the assignment, not at the last stable offset: an open
transaction of the previous owner must end before the state is valid.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from streams.errors import SurroundingsError
from streams.kafka import (
    OFFSET_BEGINNING,
    Cluster,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    next_of,
    read_live,
    take_more,
    watermarks,
)
from streams.node import Endpoint, TrimPoint
from streams.node.endpoint.route_requests import Requests
from streams.prose import counted
from streams.protocol import Dialog, DialogKey
from streams.wire import MalformedError, UnknownSchemaError
from streams.wire.specs import safe_absence
from streams.wire.state import (
    Positions,
    decode_chunk,
    decode_dialog,
    decode_positions,
    decode_request,
    decode_seen,
)
from streams.wire.state_keys import POSITIONS_KEY, RequestKey, SeenKey, StateKey, decode_key
from streams.workers.endpoint.completeness import Completeness
from streams.workers.endpoint.inputs import Inputs
from streams.workers.pulse import beat

_AT_ONCE = 1_000
_GATHERED, _GATHERED_BYTES = 50_000, 16 << 20
"""Maximum number of records and bytes to gather before applying; only a key's last record
matters."""
MISSED = "%s: deletions may have been missed, so the state is read again from its start"
_CONFIRMATIONS, _CONFIRM_EVERY, _ANSWER = 8, 60.0, 1.0
"""Minimum number of confirmations during a safe absence, maximum seconds between two of them, and
maximum seconds to wait for Kafka's response."""


def read_dialogs(cluster: Cluster, topic: str, partition: int) -> dict[DialogKey, Dialog]:
    """Return the current state of a partition of ``dialog``, for readers that will not own it.

    Raises MalformedError on a record that cannot be decoded, because state is never skipped.
    """
    dialogs: dict[DialogKey, Dialog] = {}
    chunks: list[tuple[DialogKey, int, bytes]] = []
    for raw, value in read_live(cluster, topic, partition).items():
        about = None if raw == POSITIONS_KEY else decode_key(raw)
        if not isinstance(about, StateKey):
            continue
        if about.chunk is None:
            dialogs[about.dialog] = decode_dialog(value, about.conversation)
        else:
            chunks.append((about.dialog, about.chunk, value))
    for key, number, value in chunks:
        if key in dialogs:
            dialogs[key].chunks[number] = decode_chunk(value)
    return dialogs


class Replay:
    """Apply one partition of ``dialog`` to ``endpoint`` and ``positions`` as it is read.

    No record is ever skipped; raises SurroundingsError if a record cannot be decoded. ``catch_up``
    returns when every schema announced before a given time is known. ``now`` returns Kafka's time
    in epoch milliseconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        partition: int,
        endpoint: Endpoint,
        catch_up: Callable[[float], None],
        now: Callable[[], int],
    ) -> None:
        self.endpoint, self.topic = endpoint, topic
        self.positions: Positions | None = None
        self._where = TopicPartition(topic, partition, OFFSET_BEGINNING)
        self._catch_up = catch_up
        self._gathered: dict[bytes, bytes | None] = {}
        self._gathered_bytes = 0
        self._read = -1
        self._now, limit = now, safe_absence("dialog")
        self._completeness = Completeness(now(), limit)
        self._position = 0
        self.confirm_at = 0.0
        self._confirm_every = min(_CONFIRM_EVERY, limit / 1000 / _CONFIRMATIONS)
        self._consumer = cluster.consumer(
            f"{cluster.topics.prefix}reader", enable_partition_eof=True
        )
        watermarks(self._consumer, topic, partition)  # for a new topic, wait for its leader
        self._consumer.assign([self._where])

    @property
    def at_end(self) -> bool:
        """Return whether the committed end was reached at least once."""
        return self._read >= 0

    @property
    def is_complete(self) -> bool:
        """Return whether the state includes all deletions, as far as Kafka's time is known."""
        return not self._completeness.is_doubtful(self._now())

    def close(self) -> None:
        """Close the reader."""
        self._consumer.close()

    def confirm(self) -> bool:
        """Return whether the state is complete; query the topic's end if the query is due.

        ``confirm_at`` is the monotonic time of the next query. If Kafka does not respond, the state
        counts as complete, because it could not be read again anyway.
        """
        clock, at = time.monotonic(), self._now()
        if clock < self.confirm_at:
            return True
        self.confirm_at = clock + self._confirm_every
        try:
            _, end = self._consumer.get_watermark_offsets(self._where, timeout=_ANSWER)
        except KafkaException:
            return True
        self._completeness.ends(end, at)
        return self.is_complete

    def follow(self, timeout: float) -> None:
        """Apply committed records and wait for more, for ``timeout`` seconds."""
        until = time.monotonic() + timeout
        while (left := until - time.monotonic()) > 0:
            message = self._consumer.poll(left)
            if message is None:
                break
            self._gather(message)
        self._apply()
        self._completeness.reaches(self._position, self._now())

    def finish(self, end: int) -> None:
        """Apply all records before ``end``; wait for transactions that are still open there."""
        while self._read < end:
            beat()
            self._gather(next_of(self._consumer, self.topic, self._where.partition))
            for message in take_more(self._consumer, _AT_ONCE):
                self._gather(message)
        self._apply()

    def _gather(self, message: Message) -> None:
        error = message.error()
        if error is None:
            key, value = message.key(), message.value()
            assert isinstance(key, bytes)
            self._position = (message.offset() or 0) + 1
            if key in self._gathered:
                self._gathered_bytes -= len(key) + len(self._gathered[key] or b"")
            self._gathered[key] = value
            self._gathered_bytes += len(key) + len(value or b"")
            if len(self._gathered) >= _GATHERED or self._gathered_bytes >= _GATHERED_BYTES:
                self._apply()
        elif error.code() == KafkaError._PARTITION_EOF:
            self._read = self._position = message.offset() or 0
        else:
            raise KafkaException(error)

    def _apply(self) -> None:
        beat()
        for key, value in self._gathered.items():
            beat()  # if an application has chosen ids with equal hashes, each takes milliseconds
            try:
                try:
                    self._take(key, value)
                except UnknownSchemaError:
                    self._catch_up(time.monotonic())
                    self._take(key, value)
            except UnknownSchemaError as error:
                raise SurroundingsError(
                    f"{self}: {error}.",
                    "Another version wrote it. Run 'hopline apply TOPOLOGY' of that version, "
                    "which announces its schemas.",
                ) from error
            except MalformedError as error:
                raise SurroundingsError(f"{self} cannot be decoded: {error}.") from error
        self._gathered.clear()
        self._gathered_bytes = 0

    def _take(self, raw: bytes, value: bytes | None) -> None:
        if raw == POSITIONS_KEY:
            self.positions = None if value is None else decode_positions(value)
            return
        about = decode_key(raw)
        if isinstance(about, RequestKey):
            requests = self.endpoint.requests.setdefault(about.database, Requests())
            if value is None:
                requests.drop(about.service)
            else:
                requests.put(decode_request(value, about.service))
        elif isinstance(about, SeenKey):
            self.endpoint.seen.pop(about.source, None)
            if value is not None:
                self.endpoint.seen[about.source] = decode_seen(value)
        elif about.chunk is None:
            self.endpoint.load(about.dialog, value)
        else:
            if value is not None:
                decode_chunk(value)  # report an error now; the dialog decodes the chunk later
            self.endpoint.dialogs.put_chunk(about.dialog, about.chunk, value)

    def __str__(self) -> str:
        return f"{self.topic}/{self._where.partition}"


def start_position(
    member: Consumer, aside: Consumer, topic: str, partition: int, state: int | None
) -> int:
    """Return the offset to continue at: the higher of the state's and the committed offset.

    ``member`` is a consumer in the group of the committed offsets; ``aside``, which is not in the
    group, reads the watermarks. If neither offset exists, reading starts at 0, provided that the
    log starts there. Raises SurroundingsError if the log begins above the offset, because then
    unapplied records have been lost.
    """
    where = TopicPartition(topic, partition)
    committed = member.committed([where], timeout=30)[0].offset
    known = [n for n in (state, committed) if n is not None and n >= 0]
    position = max(known, default=0)
    low, high = watermarks(aside, topic, partition)
    if low > position:
        raise SurroundingsError(
            f"{topic}/{partition} begins at {low}, but only records below {position} were applied.",
            "Records are lost. Restore the topic, or start the instance on a new prefix. If they "
            f"were deleted on purpose, set the offset of the worker's group there to {low} "
            "(kafka-consumer-groups.sh --reset-offsets --to-earliest).",
        )
    if position > high:
        raise SurroundingsError(
            f"{topic}/{partition} ends at {high}, but records up to {position} were applied.",
            "The topic was recreated, but its state is older. Start the instance on a new prefix.",
        )
    return position


def lost_bodies(
    endpoint: Endpoint, aside: Consumer, inputs: Inputs, partition: int, positions: Sequence[int]
) -> Iterator[str]:
    """Yield a message for each log that has lost bodies that dialogs need.

    Checks every dialog that needs a body, as trimming does a little later. Each affected dialog
    waits, and is reported (event 160) when the body is needed; other dialogs continue.
    """
    endpoint.retention.begin(TrimPoint(*positions))
    while (needed := endpoint.trim_point()) is None:
        beat()  # millions of dialogs may wait
    for which, topic in enumerate((inputs.cmd, inputs.inbox)):
        low, _ = watermarks(aside, topic, partition)
        count, first = endpoint.retention.below(which, low, 1)
        if count:
            yield (
                f"{topic}/{partition} begins at {low}, but messages from offset {needed[which]} "
                f"are needed for {count:,} of {counted(len(endpoint.dialogs), 'dialog')}; the "
                f"first is {first[0][1]}. Restore the topic, or end these dialogs"
            )
