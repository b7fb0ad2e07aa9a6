"""What a replay sends and when: pure, from the records, their times and a speed.

The rules:

1. Only commands are sent, because everything else follows from them; other records are counted.
2. A dialog's records keep their order in the file, whatever their timestamps say. A timestamp
   that goes back within a dialog, or is missing, counts as the dialog's latest one so far.
3. Times are relative to the earliest command of the file, divided by the speed. Dialogs that a
   file has one after the other, partition by partition, are interleaved again by time.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import isfinite

from streams.capture.record import Header, Record
from streams.errors import UsageError
from streams.wire import MalformedError
from streams.wire.records import CAUSE, is_moved
from streams.wire.records import COMMAND as COMMAND_HEADER
from streams.wire.statements import COMMAND
from streams.wire.topics import MAX_LENGTH

__all__ = ["Contents", "Due", "contents_of", "plan", "renamed", "stamped"]

_WINDOW = 10_000  # records in memory while they are put into the order of their times


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds for a replay; ``topics`` has the number of commands of each.

    ``first`` and ``last`` are epoch milliseconds, 0 where no command has a timestamp.
    """

    commands: int
    dialogs: int
    skipped: int
    topics: tuple[tuple[str, int], ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Due:
    """A record and when to send it: seconds after the start, None without waiting.

    ``number`` is the record's place in the file, from 1.
    """

    at: float | None
    number: int
    record: Record


def contents_of(records: Iterable[Record], prefix: str) -> Contents:
    """Count what a replay of the records would send."""
    topics: Counter[str] = Counter()
    dialogs: set[bytes | None] = set()
    skipped, first, last = 0, -1, -1
    for record in records:
        if not _is_command(record, prefix):
            skipped += 1
            continue
        topics[record.topic] += 1
        dialogs.add(record.key)
        if record.timestamp >= 0:
            first = record.timestamp if first < 0 else min(first, record.timestamp)
            last = max(last, record.timestamp)
    return Contents(
        topics.total(),
        len(dialogs),
        skipped,
        tuple(sorted(topics.items())),
        max(first, 0),
        max(last, 0),
    )


def plan(
    records: Iterable[Record], *, prefix: str, to_prefix: str, first: int, speed: float | None
) -> Iterator[Due]:
    """Yield the commands in the order in which to send them; ``speed`` None means at once.

    ``prefix`` is the topics' in the records, ``to_prefix`` the one to send to, ``first`` the
    earliest timestamp. Raises UsageError for a speed that is none or a topic without a new name.
    """
    if speed is not None and not (isfinite(speed) and speed > 0):
        raise UsageError(f"{speed} is no speed", "give a number above 0, such as 2 or 0.5")
    moves = prefix != to_prefix
    commands = (
        (number, _moved(record, prefix, to_prefix) if moves else record)
        for number, record in enumerate(records, 1)
        if _is_command(record, prefix)
    )
    if speed is None:
        return (Due(None, number, record) for number, record in commands)
    return _in_time(commands, first, speed)


def _in_time(commands: Iterable[tuple[int, Record]], first: int, speed: float) -> Iterator[Due]:
    latest: dict[bytes | None, int] = {}
    waiting: list[tuple[int, int, Record]] = []
    for number, record in commands:
        at = max(record.timestamp, latest.get(record.key, first))
        latest[record.key] = at
        heapq.heappush(waiting, (at, number, record))
        if len(waiting) > _WINDOW:
            yield _due(heapq.heappop(waiting), first, speed)
    while waiting:
        yield _due(heapq.heappop(waiting), first, speed)


def _due(item: tuple[int, int, Record], first: int, speed: float) -> Due:
    at, number, record = item
    return Due((at - first) / 1000 / speed, number, record)


def _moved(record: Record, prefix: str, to_prefix: str) -> Record:
    return replace(record, topic=renamed(record.topic, prefix, to_prefix))


def renamed(topic: str, prefix: str, to_prefix: str) -> str:
    """Return a topic's name under another prefix; raises UsageError where it cannot be known."""
    if prefix == to_prefix:
        return topic
    if len(topic) == MAX_LENGTH or len(topic) - len(prefix) + len(to_prefix) > MAX_LENGTH:
        raise UsageError(
            f"the topic {topic} has too long a name to be known under another prefix",
            f"replay with --prefix {prefix}",
        )
    return to_prefix + topic.removeprefix(prefix)


def stamped(headers: tuple[Header, ...], now: int) -> tuple[Header, ...]:
    """Return the headers with the command issued ``now`` (epoch milliseconds), the rest as it was.

    What cannot be read as a command stays as it is: applications send such records too. Without its
    cause: a replay says something else than what was said, and shall not be taken for it.
    """
    return tuple(
        (key, _stamp(value, now) if key == COMMAND_HEADER and value is not None else value)
        for key, value in headers
        if key != CAUSE
    )


def _stamp(value: bytes, now: int) -> bytes:
    try:
        return COMMAND.encode(COMMAND.decode(value) | {"issued_at": now})
    except MalformedError:
        return value


def _is_command(record: Record, prefix: str) -> bool:
    return record.topic.startswith(f"{prefix}cmd.") and not is_moved(record.headers)
