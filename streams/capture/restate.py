"""Turn a captured command into a new command of a job, with a new dialog id or the old one."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from streams.capture.record import Header, Record
from streams.kafka import Outgoing
from streams.wire import MalformedError
from streams.wire.commands import COMMAND
from streams.wire.job import JOB, renewed
from streams.wire.records import CAUSE, conversation_of, key_of
from streams.wire.records import COMMAND as COMMAND_HEADER

__all__ = ["Restatement"]

_REMEMBERED = 65_536


@dataclass(frozen=True, slots=True)
class Restatement:
    """How a job repeats statements; ``new``: with new dialog ids.

    The ids are derived from the job, the loop (from 0) and the old ids, so that a resumed job
    creates the same ids.
    """

    job: str
    new: bool = False

    def apply(self, record: Record, loop: int, now: int) -> Outgoing:
        """Return the record to produce, issued ``now`` (epoch milliseconds).

        An undecodable command stays unchanged, because applications also send such records. The
        cause is removed, because a replay issues a new command, which must not count as a
        repetition of the original.
        """
        new = loop if self.new else None
        try:
            headers, key = _restated(record, self.job, new, now)
        except MalformedError:
            headers, key = _kept(record), record.key
        return Outgoing(record.topic, key, record.value, headers)


def _kept(record: Record) -> list[Header]:
    return [header for header in record.headers if header[0] != CAUSE]


def _restated(
    record: Record, job: str, loop: int | None, now: int
) -> tuple[list[Header], bytes | None]:
    commands = [value for name, value in record.headers if name == COMMAND_HEADER]
    if not commands or commands[-1] is None:
        raise MalformedError("no command")
    fields = COMMAND.decode(commands[-1]) | {"issued_at": now}
    key = record.key
    if loop is not None:
        key = key_of(_new(conversation_of(key), job, loop))
        fields |= _renewed(fields, job, loop)
    raw = COMMAND.encode(fields)
    headers = [
        (name, raw if name == COMMAND_HEADER else value)
        for name, value in _kept(record)
        if name != JOB
    ]
    return [*headers, (JOB, job.encode("ascii"))], key


def _renewed(fields: Mapping[str, Any], job: str, loop: int) -> dict[str, Any]:
    """Return the fields that contain a conversation, a group or the command id, with new ids."""

    def text(known: str | None) -> str | None:
        return str(_new(_guid(known), job, loop)) if known else known

    return {
        "command_id": _new(uuid.UUID(bytes=fields["command_id"]), job, loop).bytes,
        "related": text(fields["related"]),
        "group": text(fields["group"]),
        "also": [text(known) for known in fields["also"]],
    }


def _guid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError as error:
        raise MalformedError(f"'{text}' is not an id") from error


_new = lru_cache(_REMEMBERED)(renewed)
