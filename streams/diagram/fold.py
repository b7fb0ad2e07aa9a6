"""Merge similar events of several messages or dialogs, or repeated events, into one row."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace

from streams.diagram.rows import (
    MILLISECOND,
    NO_BREAK,
    SECOND,
    DiagramRow,
    Place,
    Shape,
    Sight,
    seconds,
)
from streams.prose import clipped

TOGETHER = SECOND
"""Events within this time may be folded into one row."""
AT_ONCE = 100 * MILLISECOND
"""Events of one dialog may be folded if they follow each other within this time."""
_LONGEST_ROUND = 8
_LONGEST = 500
"""Maximum characters of a row's text; events and unreadable records can contain 64 kB."""
_MANY = ("message", "fragment")  # gets an 's' before several numbers


def folded(sights: Sequence[Sight], names: dict[uuid.UUID, str]) -> list[DiagramRow]:
    """Return the rows; ``names`` are the names of the dialogs."""
    groups = _groups(sights)
    dialogs = {s.dialog for s in sights if s.dialog is not None}
    return _rounds([_row(group, names if len(dialogs) > 1 else {}) for group in groups])


def _key(sight: Sight) -> tuple[object, ...]:
    return sight.shape, sight.ends, sight.verb, sight.rest, sight.is_lost, sight.number is None


def _groups(sights: Sequence[Sight]) -> list[list[Sight]]:
    """Group similar events, if no significant order is lost.

    If another event of the same dialog is in between, an event joins the group only if it has the
    time of the group's first event. No event joins a group across a fault.
    """
    groups: list[list[Sight]] = []
    latest: dict[tuple[object, ...], int] = {}  # the last group of each kind
    last_of: dict[uuid.UUID | None, int] = {}  # the last group of each dialog
    barrier = 0
    for sight in sights:
        at, key = latest.get(_key(sight), -1), _key(sight)
        if at < barrier or not _joins(sight, groups[at], last_of.get(sight.dialog, at) > at):
            at = latest[key] = len(groups)
            groups.append([])
        groups[at].append(sight)
        last_of[sight.dialog] = max(at, last_of.get(sight.dialog, at))
        if sight.dialog is None:
            barrier = len(groups)
    return sorted((part for g in groups for part in _parts(g)), key=lambda part: part[0].at)


def _joins(sight: Sight, group: Sequence[Sight], overtakes: bool) -> bool:
    first = group[0].at
    if sight.at == first:
        return True
    near = AT_ONCE if any(s.dialog == sight.dialog for s in group) else TOGETHER
    return not overtakes and sight.at - group[-1].at <= near and sight.at - first <= TOGETHER


def _parts(group: Sequence[Sight]) -> list[list[Sight]]:
    """Split a group into parts; all dialogs of a part have the same message numbers."""
    of: dict[uuid.UUID | None, list[Sight]] = {}
    for sight in group:
        of.setdefault(sight.dialog, []).append(sight)
    parts: dict[tuple[int | None, ...], list[Sight]] = {}
    for sights in of.values():
        parts.setdefault(tuple(s.number for s in sights), []).extend(sights)
    return [sorted(part, key=lambda s: s.at) for part in parts.values()]


# --- a row ---------------------------------------------------------------------------------------


def _row(group: Sequence[Sight], names: dict[uuid.UUID, str]) -> DiagramRow:
    first = group[0]
    keys = tuple(s.key for s in group if s.key is not None)
    text = clipped(_text(group, names), _LONGEST)
    row = DiagramRow(first.at, first.shape, first.ends, text, len(group), keys=keys)
    arrivals = [(s.arrived, s.arrived - s.at) for s in group if s.arrived is not None]
    if not arrivals:
        return row
    return replace(row, arrived=max(a for a, _ in arrivals), slowest=max(n for _, n in arrivals))


def _text(group: Sequence[Sight], names: dict[uuid.UUID, str]) -> str:
    """Return ``name: verb numbers of N dialogs rest``, without missing parts."""
    first = group[0]
    dialogs = {s.dialog for s in group if s.dialog is not None}
    numbers = sorted({s.number for s in group if s.number is not None})
    text = first.verb + ("s" if len(numbers) > 1 and first.verb.endswith(_MANY) else "")
    text += f" {_runs(numbers)}" if numbers else ""
    text += first.aside if len({s.aside for s in group}) == 1 else ""
    if len(dialogs) > 1:
        many = f"{len(dialogs)}{NO_BREAK}dialogs"
        text += f" of {many}" if numbers else f" ({many})"
    text += first.rest
    times = len(group) // len({(s.dialog, s.number) for s in group})
    text += f", {times} times" if times > 1 else ""
    named = [names.get(d, str(d)[:8]) for d in dialogs] if names else []
    return f"{named[0]}: {text}" if len(named) == 1 else text


def _runs(numbers: Sequence[int]) -> str:
    """Return numbers as ranges: ``0–3, 5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs)


# --- rounds --------------------------------------------------------------------------------------


def _rounds(rows: Sequence[DiagramRow]) -> list[DiagramRow]:
    """Keep the first of several identical rounds, with the number of repetitions."""
    result: list[DiagramRow] = []
    position = 0
    while position < len(rows):
        length, more = _round_at(rows, position)
        result += rows[position : position + length]
        position += length
        if more:
            repeated = rows[position : position + length * more]
            result.append(_again(repeated, length, more))
            position += len(repeated)
    return result


def _round_at(rows: Sequence[DiagramRow], start: int) -> tuple[int, int]:
    """Return the length of the round that begins here, and the number of its repetitions."""
    for length in range(1, _LONGEST_ROUND + 1):
        if not any(row.shape.is_copy for row in rows[start : start + length]):
            continue  # counting repetitions for each start would take quadratic time
        first = _alike(rows[start : start + length])
        more = 0
        while first == _alike(rows[start + length * (more + 1) : start + length * (more + 2)]):
            more += 1
        if more > 1:
            return length, more
    return 1, 0


def _alike(rows: Sequence[DiagramRow]) -> list[tuple[object, ...]]:
    return [(row.shape, row.ends, row.text, row.is_lost) for row in rows]


def _again(repeated: Sequence[DiagramRow], length: int, more: int) -> DiagramRow:
    what = "the row above" if length == 1 else f"the {length} rows above"
    last = max(row.arrived or row.at for row in repeated)
    ends: Collection[Place] = dict.fromkeys(end for row in repeated for end in row.ends)
    text = f"{what} {more} more times, until {seconds(last)}"
    count = sum(row.count for row in repeated)
    keys = tuple(key for row in repeated for key in row.keys)
    return DiagramRow(repeated[0].at, Shape.AGAIN, tuple(ends), text, count, keys=keys)
