"""Decide which records a replay sends and when, from the records, their times and a speed.

The rules:

1. Only commands are sent, because everything else follows from them; other records are counted.
2. A dialog's records keep their order in the file, regardless of timestamps. A timestamp that goes
  back within a dialog, or is missing, is replaced by the dialog's latest timestamp so far.
3. Times are relative to the earliest command of the file, divided by the speed. Dialogs that follow
  each other in the file, partition by partition, are interleaved again by time.
4. With a rate, commands are sent evenly in that order; at full speed, in the order of the file.
5. A loop begins when the previous one has ended.

So the same file gives the same plan, and a position in the plan is all the progress to store.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import isfinite

from streams.capture.look import time_text
from streams.capture.record import Record
from streams.errors import InputError, UsageError
from streams.wire.records import LARGEST_BODY, is_moved
from streams.wire.topics import MAX_LENGTH

__all__ = ["Contents", "Due", "contents_of", "demand_time", "looped", "plan", "renamed"]

_WINDOW = 10_000  # records in memory while they are sorted by time
LONGEST = 31 * 86_400.0
"""The longest plausible replay in seconds; a longer duration means that a clock was wrong.
"""


@dataclass(frozen=True, slots=True)
class Contents:
    """The content of a file for a replay; ``topics`` contains the number of commands per topic.

    ``first`` and ``last`` are epoch milliseconds, 0 if no command has a timestamp; ``first_at`` and
    ``last_at`` the numbers of these records, from 1. ``large`` is the number of bodies above
    Kafka's size limit.
    """

    commands: int
    dialogs: int
    skipped: int
    topics: tuple[tuple[str, int], ...]
    first: int
    last: int
    first_at: int = field(default=0, compare=False)
    last_at: int = field(default=0, compare=False)
    large: int = 0

    @property
    def seconds(self) -> float:
        """Return the duration of the captured run in seconds."""
        return (self.last - self.first) / 1000


@dataclass(frozen=True, slots=True)
class Due:
    """A record and its due time: seconds after the start, or None to send it without waiting.

    ``number`` is the record's place in the file, from 1; ``loop`` counts from 0.
    """

    at: float | None
    number: int
    record: Record
    loop: int = 0


def contents_of(records: Iterable[Record], prefix: str) -> Contents:
    """Count the commands that a replay of the records would send."""
    topics: Counter[str] = Counter()
    dialogs: set[bytes | None] = set()
    skipped, large = 0, 0
    first = last = first_at = last_at = -1
    for number, record in enumerate(records, 1):
        if not _is_command(record, prefix):
            skipped += 1
            continue
        topics[record.topic] += 1
        dialogs.add(record.key)
        large += len(record.value or b"") > LARGEST_BODY
        if record.timestamp >= 0:
            if first < 0 or record.timestamp < first:
                first, first_at = record.timestamp, number
            if record.timestamp > last:
                last, last_at = record.timestamp, number
    return Contents(
        topics.total(),
        len(dialogs),
        skipped,
        tuple(sorted(topics.items())),
        max(first, 0),
        max(last, 0),
        first_at,
        last_at,
        large,
    )


def demand_time(found: Contents, speed: float, file: str) -> None:
    """Raise InputError if the times in a file are too far apart to be plausible."""
    lasts = found.seconds / speed
    if lasts <= LONGEST:
        return
    raise InputError(
        f"The commands span {found.seconds / 86_400:,.0f} days, so the replay would "
        f"last {lasts / 86_400:,.0f} days: record {found.first_at} is from "
        f"{_instant(found.first)}, record {found.last_at} from {_instant(found.last)}.",
        file=file,
        remedy="Give --rate, --asap or a higher --speed, or shorten the capture with "
        "'hopline capture slice'.",
    )


def _instant(milliseconds: int) -> str:
    return time_text(milliseconds) or f"{milliseconds} ms"


def plan(
    records: Iterable[Record],
    *,
    prefix: str,
    to_prefix: str,
    first: int,
    speed: float | None,
    rate: float | None = None,
) -> Iterator[Due]:
    """Yield the commands in send order; ``speed`` None means without pauses.

    ``prefix`` is the prefix of the topics in the records, ``to_prefix`` the destination's,
    ``first`` the earliest timestamp, ``rate`` the commands per second regardless of their times.
    Raises UsageError for an invalid speed or rate, or a topic without a new name.
    """
    for value, what in ((speed, "speed"), (rate, "rate")):
        if value is not None and not (isfinite(value) and value > 0):
            raise UsageError(
                f"{value} is not a valid {what}.", "Give a number above 0, such as 2 or 0.5."
            )
    moves = prefix != to_prefix
    commands = (
        (number, _moved(record, prefix, to_prefix) if moves else record)
        for number, record in enumerate(records, 1)
        if _is_command(record, prefix)
    )
    if rate is not None:
        ordered = _in_time(commands, first, 1.0)
        return (replace(due, at=n / rate) for n, due in enumerate(ordered))
    if speed is None:
        return (Due(None, number, record) for number, record in commands)
    return _in_time(commands, first, speed)


def looped(make: Callable[[], Iterable[Due]], loops: int, lasts: float) -> Iterator[Due]:
    """Repeat a plan; ``lasts`` is its duration in seconds."""
    for loop in range(loops):
        for due in make():
            at = None if due.at is None else due.at + loop * lasts
            yield due if not loop else replace(due, at=at, loop=loop)


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
    """Return a topic's name under another prefix; raise UsageError if it is too long."""
    if prefix == to_prefix:
        return topic
    if len(topic) == MAX_LENGTH or len(topic) - len(prefix) + len(to_prefix) > MAX_LENGTH:
        raise UsageError(
            f"The topic name {topic} is too long for another prefix.",
            f"Replay with --prefix '{prefix}'.",
        )
    return to_prefix + topic.removeprefix(prefix)


def _is_command(record: Record, prefix: str) -> bool:
    return record.topic.startswith(f"{prefix}cmd.") and not is_moved(record.headers)
