"""Moving a home's dialogs to the partitions on which their keys belong by now.

Nobody else may own the home's partitions meanwhile. A dialog moves whole, in one transaction: its
state, and copies of the bodies that the state needs. Whoever is interrupted begins again, and moves
what is left.
"""

from __future__ import annotations

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
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
    headers_of,
    read_live,
)
from streams.protocol import Dialog, DialogKey, Request, Seen, Source
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
from streams.workers.endpoint.inputs import Inputs

AT_ONCE = 500
"""So many dialogs are moved in one transaction."""
BODIES_AT_ONCE = 500
"""So many bodies are copied in one: 450 MB if all are as large as they may be."""


@dataclass(slots=True)
class State:
    """What the partitions of a home's ``dialog`` hold, read as of now."""

    count: int
    dialogs: list[dict[DialogKey, bytes]] = field(default_factory=list)
    chunks: dict[DialogKey, dict[int, bytes]] = field(default_factory=dict)
    positions: list[Positions | None] = field(default_factory=list)
    requests: dict[RequestKey, list[Request]] = field(default_factory=lambda: defaultdict(list))
    seen: dict[Source, list[Seen]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def read(cls, cluster: Cluster, topic: str, count: int) -> State:
        """Read all of it; raises SurroundingsError on a record that cannot be understood."""
        state = cls(count)
        for number in range(count):
            live = read_live(cluster, topic, number, to_high=True)
            try:
                state._take(live)
            except MalformedError as error:
                raise SurroundingsError(
                    f"{topic}/{number} cannot be decoded: {error}.",
                    "Run this with the version of the workers that wrote it.",
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
        """Yield the dialogs that belong on another partition, with the one on which they are."""
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
    """Move what is misplaced, as the ``member`` of the group that owns the partitions.

    It is asked for anew for each transaction, which keeps it one. Kafka refuses what is written
    after somebody else has become a member: SurroundingsError.
    """

    cluster: Cluster
    home: str
    state: State
    producer: Producer
    member: Callable[[], Any]
    report: Callable[[str], None]

    def run(self) -> int:
        """Move everything; returns how many dialogs that were."""
        misplaced = list(self.state.misplaced())
        places = self._copy_bodies(misplaced)
        for begin in range(0, len(misplaced), AT_ONCE):
            some = misplaced[begin : begin + AT_ONCE]
            with self._transaction():
                for number, key in some:
                    self._move(number, key, places[number])
            self.report(f"{self.home}: {begin + len(some):,} of {len(misplaced):,} dialogs moved")
        with self._transaction():
            self._share()
        return len(misplaced)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Commit what is written meanwhile, unless somebody else owns the partitions by then."""
        producer, topics = self.producer, Inputs.of(self.cluster.topics, self.home)
        producer.begin_transaction()
        try:
            yield
            self._flush()
            # Positions stay where they are: that they are written is what fences.
            offsets = [
                TopicPartition(topic, number, at)
                for number, known in enumerate(self.state.positions)
                for topic, at in zip(topics, _places(known), strict=True)
            ]
            producer.send_offsets_to_transaction(offsets, self.member(), 30)
            producer.commit_transaction(30)
        except KafkaException as error:
            with suppress(KafkaException):  # fenced, it has nothing to abort any more
                producer.abort_transaction(30)
            raise SurroundingsError(
                f"{self.home}: a transaction was aborted: {error.args[0].str().rstrip('.')}.",
                "If a worker has started, stop it; run the command again to continue.",
            ) from error

    def _copy_bodies(self, misplaced: Iterable[tuple[int, DialogKey]]) -> dict[int, _Places]:
        """Copy what the dialogs need, in the order in which it lies; returns where the copies are.

        As long as no state says so nobody needs them.
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
                        to = partition_of(wanted[at][1], self.state.count)
                        self._produce_copy(fetcher.fetch(at), to, partial(_note, places, at))
                assert places.keys() >= set(some), "only confirmed records are committed"
                self.report(
                    f"{topic}/{number}: {begin + len(some):,} of {len(positions):,} bodies copied"
                )

    def _produce_copy(self, body: Message, to: int, on_delivery: Callable[..., None]) -> None:
        headers: Any = moved_headers(headers_of(body))
        topic, value, key = body.topic() or "", body.value(), body.key()
        stored_at = body.timestamp()[1]
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
        """Let each partition know what any has known of requests for routes and of sources.

        A request is with its conversation; no number of one is used again. Of a source the highest
        mark counts: all that it has said was applied.
        """
        topic, count = self.cluster.topics.dialog(self.home), self.state.count
        for number in range(count):
            for about, requests in self.state.requests.items():
                value = encode_request(joint(requests, number, count))
                self.producer.produce(topic, value, about.encode(), number)
            for source, seen in self.state.seen.items():
                latest = max(seen, key=lambda one: one.said[-1].at)
                self.producer.produce(topic, encode_seen(latest), SeenKey(source).encode(), number)
            self._flush()  # there may be thousands of sources, and a client has room for so many

    def _flush(self) -> None:
        if self.producer.flush(60):
            raise SurroundingsError(
                f"Kafka at {self.cluster.bootstrap} has not accepted all records within 60 s.",
                "Run the command again to continue.",
            )


@dataclass(slots=True)
class _Places:
    """Where bodies of one partition are by now, by where they were in ``cmd`` and in ``in``."""

    commands: dict[int, int] = field(default_factory=dict)
    frames: dict[int, int] = field(default_factory=dict)


def _places(known: Positions | None) -> tuple[int, int, int]:
    return (0, 0, 0) if known is None else (known.cmd, known.inbox, known.ack)


def joint(requests: Iterable[Request], number: int, count: int) -> Request:
    """Return what a partition is to know of the requests for routes to one service."""
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
    """Note where a copy is; one that was not delivered lets its transaction fail."""
    if error is None:
        places[position] = copy.offset() or 0
