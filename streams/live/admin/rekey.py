"""Move a home's dialogs to the partitions of their keys.

No other process may own the home's partitions during the move. A dialog moves as a whole, in one
transaction: its state, and copies of the bodies that the state needs. After an interruption,
another run moves the remaining dialogs.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from streams.errors import SurroundingsError
from streams.kafka import (
    Cluster,
    Fetcher,
    GoneError,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
    headers_of,
    read_live,
)
from streams.prose import counted
from streams.protocol import Dialog, DialogKey, Request, Seen, Source
from streams.times import plausible
from streams.wire import MalformedError
from streams.wire.partition import partition_of
from streams.wire.records import moved_headers
from streams.wire.state import (
    Positions,
    decode_positions,
    decode_request,
    decode_seen,
    encode_chunk,
    encode_dialog,
    encode_request,
    encode_seen,
    unpack_dialog,
)
from streams.wire.state_keys import (
    POSITIONS_KEY,
    RequestKey,
    SeenKey,
    chunk_key,
    decode_key,
    dialog_key,
)
from streams.workers.endpoint.bodies import fetch_record
from streams.workers.endpoint.inputs import Inputs

AT_ONCE = 500
"""Dialogs per transaction."""
BODIES_AT_ONCE = 500
"""Bodies per transaction: at most 450 MB, if all bodies have the maximum size."""


@dataclass(slots=True)
class State:
    """The current content of a home's topic ``dialog``, by partition."""

    count: int
    dialogs: list[dict[DialogKey, bytes]] = field(default_factory=list)
    chunks: dict[DialogKey, dict[int, bytes]] = field(default_factory=dict)
    positions: list[Positions | None] = field(default_factory=list)
    requests: dict[RequestKey, list[Request]] = field(default_factory=lambda: defaultdict(list))
    seen: dict[Source, list[Seen]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def read(cls, cluster: Cluster, topic: str, count: int) -> State:
        """Read all records; raise SurroundingsError on a record that cannot be decoded."""
        state = cls(count)
        for number in range(count):
            live = read_live(cluster, topic, number, to_high=True)
            try:
                state._take(live)
            except MalformedError as error:
                raise SurroundingsError(
                    f"{topic}/{number} cannot be decoded: {error}.",
                    "Run this command with the same version as the workers that wrote it.",
                ) from error
        return state

    def _take(self, live: Mapping[bytes, bytes]) -> None:
        raw = live.get(POSITIONS_KEY)
        self.positions.append(None if raw is None else decode_positions(raw))
        dialogs: dict[DialogKey, bytes] = {}
        for key, value in live.items():
            about = None if key == POSITIONS_KEY else decode_key(key)
            match about:
                case None:
                    pass
                case RequestKey():
                    self.requests[about].append(decode_request(value, about.service))
                case SeenKey():
                    self.seen[about.source].append(decode_seen(value))
                case _ if about.chunk is None:
                    dialogs[about.dialog] = value
                case _:
                    self.chunks.setdefault(about.dialog, {})[about.chunk] = value
        self.dialogs.append(dialogs)

    def misplaced(self) -> Iterator[tuple[int, DialogKey]]:
        """Yield the dialogs that belong to another partition, with their current partition."""
        for number, dialogs in enumerate(self.dialogs):
            for key in dialogs:
                if partition_of(key[1], self.count) != number:
                    yield number, key

    def dialog(self, number: int, key: DialogKey) -> Dialog:
        """Return a dialog of a partition."""
        raw = self.dialogs[number][key]
        return unpack_dialog(raw, key[1], self.chunks.get(key, {}))


@dataclass(slots=True)
class Rekey:
    """Move misplaced dialogs, as the ``member`` of the group that owns the partitions.

    Each transaction requests the group metadata again, which keeps the membership. Raises
    SurroundingsError if another member has joined, because Kafka then rejects the writes.
    """

    cluster: Cluster
    home: str
    state: State
    producer: Producer
    member: Callable[[], Any]
    report: Callable[[str], None]

    def run(self) -> int:
        """Move all misplaced dialogs; return their number."""
        misplaced = list(self.state.misplaced())
        places = self._copy_bodies(misplaced)
        for begin in range(0, len(misplaced), AT_ONCE):
            some = misplaced[begin : begin + AT_ONCE]
            with self._transaction():
                for number, key in some:
                    self._move(number, key, places[number])
            dialogs = counted(len(misplaced), "dialog")
            self.report(f"{self.home}: {begin + len(some):,} of {dialogs} moved")
        with self._transaction():
            self._share()
        return len(misplaced)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit the records of the context, unless another member owns the partitions."""
        producer, topics = self.producer, Inputs.of(self.cluster.topics, self.home)
        producer.begin_transaction()
        try:
            yield
            self._flush()
            # Positions remain the same, but writing them fences other owners.
            offsets = [
                TopicPartition(topic, number, at)
                for number, known in enumerate(self.state.positions)
                for topic, at in zip(topics, next_offsets(known), strict=True)
            ]
            producer.send_offsets_to_transaction(offsets, self.member(), 30)
            producer.commit_transaction(30)
        except KafkaException as error:
            with suppress(KafkaException):  # a fenced producer has nothing to abort
                producer.abort_transaction(30)
            raise SurroundingsError(
                f"{self.home}: a transaction was aborted: {error.args[0].str().rstrip('.')}.",
                "If a worker has started, stop it; run the command again to continue.",
            ) from error

    def _copy_bodies(self, misplaced: Iterable[tuple[int, DialogKey]]) -> dict[int, _Places]:
        """Copy the bodies that the dialogs need, in log order; return the positions of the copies.

        The copies are unused until a state refers to them.
        """
        wanted: dict[int, tuple[dict[int, DialogKey], dict[int, DialogKey]]] = {}
        for number, key in misplaced:
            dialog = self.state.dialog(number, key)
            commands, frames = wanted.setdefault(number, ({}, {}))
            commands.update(dict.fromkeys(dialog.needed_commands(), key))
            frames.update(dict.fromkeys(dialog.needed_frames(), key))
        places = {number: _Places() for number in wanted}
        cmd, inbox, _ = Inputs.of(self.cluster.topics, self.home)
        for number, (commands, frames) in wanted.items():
            self._copy(cmd, number, commands, places[number].commands)
            self._copy(inbox, number, frames, places[number].frames)
        return places

    def _copy(
        self, topic: str, number: int, wanted: Mapping[int, DialogKey], places: dict[int, int]
    ) -> None:
        positions = sorted(wanted)
        with closing(Fetcher(self.cluster, topic, number)) as fetcher:
            for begin in range(0, len(positions), BODIES_AT_ONCE):
                some = positions[begin : begin + BODIES_AT_ONCE]
                with self._transaction():
                    for at in some:
                        body = _body(fetcher, at, wanted[at][1])
                        to = partition_of(wanted[at][1], self.state.count)
                        self._produce_copy(body, to, partial(_note, places, at))
                assert places.keys() >= set(some), "only confirmed records are committed"
                bodies = counted(len(positions), "body", "bodies")
                self.report(f"{topic}/{number}: {begin + len(some):,} of {bodies} copied")

    def _produce_copy(self, body: Message, to: int, on_delivery: Callable[..., None]) -> None:
        headers: Any = moved_headers(headers_of(body))
        topic, value, key = body.topic() or "", body.value(), body.key()
        stored_at = plausible(body.timestamp()[1], time.time_ns() // 1_000_000)
        self.producer.produce(topic, value, key, to, on_delivery, None, stored_at, headers)

    def _move(self, number: int, key: DialogKey, places: _Places) -> None:
        dialog = self.state.dialog(number, key)
        dialog.move_bodies(places.commands, places.frames)
        topic, to = self.cluster.topics.dialog(self.home), partition_of(key[1], self.state.count)
        raw = dialog_key(key)
        records = {chunk_key(raw, n): encode_chunk(c) for n, c in dialog.chunks.items()}
        for name, value in {**records, raw: encode_dialog(dialog)}.items():
            self.producer.produce(topic, value, name, to)
            self.producer.produce(topic, None, name, number)

    def _share(self) -> None:
        """Give each partition the route requests and sources of all partitions.

        A request belongs to the partition of its conversation; its numbers are never reused. For a
        source, the highest position of any partition is used, because all its statements up to that
        position were applied.
        """
        topic, count = self.cluster.topics.dialog(self.home), self.state.count
        for number in range(count):
            for about, requests in self.state.requests.items():
                value = encode_request(joint(requests, number, count))
                self.producer.produce(topic, value, about.encode(), number)
            for source, seen in self.state.seen.items():
                latest = max(seen, key=lambda one: one.said[-1].at)
                self.producer.produce(topic, encode_seen(latest), SeenKey(source).encode(), number)
            self._flush()  # there may be thousands of sources, and the client's queue is limited

    def _flush(self) -> None:
        if self.producer.flush(60):
            raise SurroundingsError(
                f"Kafka at {self.cluster.bootstrap} has not accepted all records within 60 s.",
                "Run the command again to continue.",
            )


@dataclass(slots=True)
class _Places:
    """The new positions of one partition's bodies, by the old positions in ``cmd`` and ``in``."""

    commands: dict[int, int] = field(default_factory=dict)
    frames: dict[int, int] = field(default_factory=dict)


def next_offsets(known: Positions | None) -> tuple[int, int, int]:
    """Return the next offsets to read in the three inputs; 0 for a partition without a record."""
    return (0, 0, 0) if known is None else (known.cmd, known.inbox, known.ack)


def joint(requests: Iterable[Request], number: int, count: int) -> Request:
    """Return the merged route requests for one service."""
    every = list(requests)
    first = every[0]
    open_here = (
        r.conversation
        for r in every
        if r.conversation is not None and partition_of(r.conversation, count) == number
    )
    return replace(
        first,
        rounds=max(r.rounds for r in every),
        total=max(r.total for r in every),
        conversation=next(open_here, None),
        again_at=max(r.again_at for r in every),
    )


def _note(places: dict[int, int], position: int, error: KafkaError | None, copy: Message) -> None:
    """Record the position of a copy; an undelivered copy makes its transaction fail."""
    if error is None:
        places[position] = copy.offset() or 0


def _body(fetcher: Fetcher, position: int, conversation: uuid.UUID) -> Message:
    try:
        return fetch_record(fetcher, position, conversation)
    except GoneError as error:
        raise SurroundingsError(
            f"{error.message}; conversation {conversation} needs this record.",
            "End this conversation with CLEANUP, then run the command again.",
        ) from error
