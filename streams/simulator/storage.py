"""What survives a crash: the topics of an instance, and the state records of its dialogs."""

from __future__ import annotations

import marshal
from dataclasses import dataclass, field
from typing import NamedTuple

from streams.node import DialogKey, OutFrame, Transaction
from streams.protocol import Acknowledgement, Command, Dialog, Message, Status
from streams.simulator.codec import (
    ACK,
    COMMAND,
    DIALOG,
    HEADER,
    JOURNEY,
    STATUS,
    Codec,
    decode_header,
    decode_parties,
    encode_parties,
)


class Entry(NamedTuple):
    """A record of a topic; its offset is its place. ``route`` is ``None`` in ``cmd`` and for a
    Status, ``message`` for an acknowledgement."""

    key: bytes
    value: bytes
    stored_at: int
    route: bytes | None = None
    message: bytes | None = None
    hop: bytes = b""
    inside: bool = False


@dataclass(slots=True)
class Topics:
    """The topics of an instance: append-only, one partition each, as in Kafka."""

    cmd: list[Entry] = field(default_factory=list)
    out: list[Entry] = field(default_factory=list)
    txq: list[Entry] = field(default_factory=list)
    inbox: list[Entry] = field(default_factory=list)
    ack: list[Entry] = field(default_factory=list)


@dataclass(slots=True)
class Positions:
    """The next offsets to read of the endpoint worker's inputs."""

    cmd: int = 0
    inbox: int = 0
    ack: int = 0


class State:
    """The compacted topic ``dialog``: what an endpoint worker finds again after a crash."""

    def __init__(self) -> None:
        self.dialogs: dict[DialogKey, bytes] = {}
        self.chunks: dict[DialogKey, dict[int, bytes]] = {}
        self.positions = Positions()

    def write(self, tx: Transaction) -> None:
        """Take over the dialogs of a transaction, and the chunks that it touched."""
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
                    records[number] = marshal.dumps(chunk, 2)

    def restore(self, out_end: int = 0) -> dict[DialogKey, Dialog]:
        """Return the dialogs; ``out_end`` is how long ``out`` is now."""
        return {key: self.dialog(key, out_end) for key in self.dialogs}

    def dialog(self, key: DialogKey, out_end: int = 0) -> Dialog:
        """Return one dialog."""
        chunks = self.chunks.get(key, {})
        return DIALOG.loads(
            self.dialogs[key],
            conversation=key[1],
            chunks={number: marshal.loads(raw) for number, raw in chunks.items()},
            last_copy=out_end - 1,  # unknown which: at or before the end of out
        )


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
    )


def status_entry(status: Status, at: int) -> Entry:
    """Return the record of ``ack`` by which the local forwarder says why it could not send."""
    return Entry(status.conversation.bytes, STATUS.dumps(status), at)


def read_ack(entry: Entry) -> Acknowledgement | Status:
    """Read a record of ``ack``."""
    if entry.route is None:
        return STATUS.loads(entry.value)
    conversation = Codec.conversation(entry.key)
    return Acknowledgement(conversation, decode_parties(entry.route), ACK.loads(entry.value))
