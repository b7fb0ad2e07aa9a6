"""The durable data: topics, and the state records of dialogs."""

from __future__ import annotations

import marshal
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.errors import UsageError
from streams.node import OutFrame, QueueMessage, Transaction, TrimPoint
from streams.node.endpoint.route_requests import Requests
from streams.protocol import (
    Acknowledgement,
    Chunk,
    Command,
    Dialog,
    DialogKey,
    Message,
    Seen,
    Source,
    Status,
)
from streams.protocol.seen import remember
from streams.routing import broker_key
from streams.simulator.codec import (
    ACK,
    COMMAND,
    DIALOG,
    HEADER,
    JOURNEY,
    REQUEST,
    STATUS,
    Codec,
    decode_header,
    decode_parties,
    encode_parties,
)
from streams.simulator.processes import Applying
from streams.topology import Topology


class Entry(NamedTuple):
    """A record of a topic; its offset is its index in the topic.

    ``route`` is ``None`` in ``cmd`` and for a Status; ``message`` is ``None`` for an
    acknowledgement.
    """

    key: bytes
    value: bytes
    stored_at: int
    route: bytes | None = None
    message: bytes | None = None
    hop: bytes = b""
    inside: bool = False


@dataclass(slots=True)
class Topics:
    """Topics: append-only, one partition each, as in Kafka."""

    cmd: list[Entry] = field(default_factory=list)
    out: list[Entry] = field(default_factory=list)
    txq: list[Entry] = field(default_factory=list)
    inbox: list[Entry] = field(default_factory=list)
    ack: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class Positions:
    """The next offsets to read in the endpoint worker's inputs."""

    cmd: int = 0
    inbox: int = 0
    ack: int = 0


class State:
    """The compacted topic ``dialog``: an endpoint worker's state after a crash."""

    def __init__(self) -> None:
        self.dialogs: dict[DialogKey, bytes] = {}
        self.chunks: dict[DialogKey, dict[int, bytes]] = {}
        self.requests: dict[tuple[str, str], bytes] = {}
        self.seen: dict[Source, Seen] = {}
        self.positions = Positions()

    def write(self, tx: Transaction) -> None:
        """Store a transaction's dialogs, changed chunks and requests."""
        remember(self.seen, tx.seen, tx.forgotten_sources)
        for place, request in tx.notices.changed.items():
            self.requests[place] = REQUEST.dumps(request)
        for place in tx.notices.forgotten:
            del self.requests[place]
        for key, machine in tx.machines.items():
            if machine.forgotten:
                self.dialogs.pop(key, None)
            else:
                self.dialogs[key] = DIALOG.dumps(machine.dialog)
            records = self.chunks.setdefault(key, {})
            for number in sorted(machine.touched_chunks):
                chunk = machine.dialog.chunks.get(number)
                if chunk is None:
                    records.pop(number, None)
                else:
                    stored = chunk.positions.tolist(), chunk.fragments.tolist()
                    records[number] = marshal.dumps(stored, 2)

    def restore(self, out_end: int = 0) -> dict[DialogKey, Dialog]:
        """Return the dialogs; ``out_end`` is the current length of ``out``."""
        return {key: self.dialog(key, out_end) for key in self.dialogs}

    def restore_requests(self) -> dict[str, Requests]:
        """Return the requests for routes, by database."""
        found: dict[str, Requests] = {}
        for (database, _), raw in self.requests.items():
            found.setdefault(database, Requests()).put(REQUEST.loads(raw))
        return found

    def dialog(self, key: DialogKey, out_end: int = 0) -> Dialog:
        """Return one dialog."""
        chunks = self.chunks.get(key, {})
        dialog: Dialog = DIALOG.loads(
            self.dialogs[key],
            conversation=key[1],
            chunks={number: Chunk(*marshal.loads(raw)) for number, raw in chunks.items()},
        )
        dialog.assume(out_end - 1)
        return dialog


@dataclass(slots=True)
class Batch:
    """The input of one turn: accepted messages, and the applied statements and messages.

    ``accepted`` contains (endpoint, number, command).
    """

    accepted: list[tuple[DialogKey, int, Command]] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)


@dataclass(slots=True)
class Store:
    """The durable part of an instance, or of a mirrored pair, which has no ``txq``.

    ``database`` is the pair's database, or ``None`` for an instance. ``forwarded`` contains the
    committed positions of the forwarder in ``out`` and ``txq``; ``endpoint`` is the consumer of the
    other topics. The endpoint was started in ``epoch``; an endpoint with a lower epoch can no
    longer start. ``trim_point`` contains the start offsets of its inputs; earlier records are
    trimmed and must not be read.
    """

    name: str
    database: str | None = None
    topics: Topics = field(default_factory=Topics)
    state: State = field(default_factory=State)
    queues: dict[str, list[QueueMessage]] = field(default_factory=dict)
    forwarded: list[int] = field(default_factory=lambda: [0, 0])
    endpoint: Applying | None = None
    epoch: int = 0
    trim_point: TrimPoint = field(default_factory=TrimPoint)

    def wake(self) -> None:
        """Wake the endpoint worker to read, if one is running."""
        if self.endpoint is not None:
            self.endpoint.wake()


def pairs_of(topology: Topology) -> dict[str, dict[str, Store]]:
    """Return the stores of each instance's mirrored databases; partners share a store."""
    stores: dict[str, tuple[Store, str]] = {}
    found: dict[str, dict[str, Store]] = {name: {} for name in topology.instances}
    for instance in topology.instances.values():
        for database in instance.databases.values():
            if database.mirror is None:
                continue
            pair = database.mirror.pair
            made = Store(f"the pair {pair}", database.name), database.broker_id
            store, broker = stores.setdefault(pair, made)
            if (store.database, broker_key(broker)) != (database.name, broker_key(made[1])):
                raise UsageError(
                    f"The partners of the pair {pair} differ in database name or broker id.",
                    "Give both the same database name and the same broker_id.",
                )
            found[instance.name][database.name] = store
    return found


def command_entry(command: Command, at: int) -> Entry:
    """Return the record of ``cmd`` for a statement."""
    return Entry(command.conversation.bytes, COMMAND.dumps(command), at)


def read_command(entry: Entry) -> Command:
    """Read a record of ``cmd``."""
    return COMMAND.loads(entry.value, stored_at=entry.stored_at)


def frame_entry(frame: OutFrame, at: int) -> Entry:
    """Return the record of ``out`` for a frame."""
    key, route = frame.conversation.bytes, encode_parties(frame.parties)
    hop = JOURNEY.dumps(frame.journey)
    if frame.ack is not None:
        return Entry(key, ACK.dumps(frame.ack), at, route, None, hop)
    assert frame.header is not None, "a frame is a message or an acknowledgement"
    return Entry(key, frame.body, at, route, HEADER.dumps(frame.header), hop)


def read_message(entry: Entry) -> Message:
    """Read a record of ``in``."""
    assert entry.route is not None and entry.message is not None
    return Message(
        Codec.conversation(entry.key),
        decode_parties(entry.route),
        decode_header(entry.message),
        JOURNEY.loads(entry.hop),
        entry.value,
        entry.inside,
        entry.stored_at,
    )


def status_entry(status: Status, at: int) -> Entry:
    """Return the record of ``ack`` for the local forwarder's report of an unsent copy."""
    return Entry(status.conversation.bytes, STATUS.dumps(status), at)


def read_ack(entry: Entry) -> Acknowledgement | Status:
    """Read a record of ``ack``."""
    if entry.route is None:
        return STATUS.loads(entry.value)
    conversation = Codec.conversation(entry.key)
    return Acknowledgement(conversation, decode_parties(entry.route), ACK.loads(entry.value))
