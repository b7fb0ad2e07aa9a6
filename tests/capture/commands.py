"""Write captures of commands in short form."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from streams.capture import CaptureOrigin, CaptureWriter, Metadata, Record, TimestampType
from streams.protocol.command import Command, CommandKind
from streams.wire import Topics
from streams.wire.records import command_record

IssuedCommand = tuple[str, Command]
"""At which instance a command was given."""


def begin(conversation: int, at: str = "ServerA", **more: Any) -> IssuedCommand:
    """Return a BEGIN from ServerA's InitiatorService to TargetService by default."""
    fields = {"from_service": "InitiatorService", "to_service": "TargetService"} | more
    return at, command(conversation, CommandKind.BEGIN, fields)


def send(conversation: int, at: str = "ServerA", **more: Any) -> IssuedCommand:
    """Return a SEND, by the initiator in DatabaseA by default."""
    return at, command(conversation, CommandKind.SEND, {"body": b"x"} | more)


def command(conversation: int, kind: CommandKind, fields: dict[str, Any]) -> Command:
    where = {"database": "DatabaseA"} | fields
    return Command(uuid.UUID(int=conversation), uuid.UUID(int=0), kind, **where)


def records(issued: Iterable[IssuedCommand], prefix: str = "ssb.") -> list[Record]:
    """Return commands as they stand on their topics."""
    found = []
    for offset, (instance, statement) in enumerate(issued):
        key, value, headers = command_record(statement)
        found.append(
            Record(
                Topics(prefix).cmd(instance), 0, offset, 1_000 + offset,
                TimestampType.CREATE_TIME, key, tuple(headers), value,
            )
        )  # fmt: skip
    return found


def capture(path: Path, made: Iterable[Record], prefix: str = "ssb.") -> Path:
    """Write a capture of these records."""
    with CaptureWriter(path, Metadata(CaptureOrigin.CAPTURED, prefix, "test", 0)) as writer:
        for record in made:
            writer.write(record)
    return path
