"""Place instances in the picture: initiators on the left, targets on the right.

Each column is one step further from the initiators; within a column, instances are placed near
their neighbours. The same instances and links always give the same picture, regardless of the
traffic.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

Pair = tuple[str, str]
WIDTH, HEIGHT = 148, 44
"""The size of an instance's box, in units of the picture."""
_ROW, _MARGIN = 66, 14
_WIDE, _NARROWEST, _WIDEST = 900, 220, 380
"""The preferred width of the picture, if it leaves acceptable distances between columns."""
_TALL = 14
"""The maximum number of instances in a column; larger columns are split."""
_ROUND = 14
"""The maximum number of instances in a readable circle."""
_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Picture:
    """The centres of boxes by name, and the size of the picture."""

    places: Mapping[str, tuple[float, float]]
    width: float
    height: float


def place(names: Collection[str], links: Iterable[Pair], begins: Mapping[str, int]) -> Picture:
    """Place instances; ``begins``: how many flows each instance begins, minus those it answers."""
    near = neighbours(names, links)
    columns = ordered(columns_of(names, near, begins), near)
    if len(names) <= _ROUND and _crowded(columns, near):
        return _circle(sorted(names))
    return _rows([part for column in columns for part in _parts(column)])


def neighbours(names: Collection[str], links: Iterable[Pair]) -> dict[str, set[str]]:
    """Return each instance's neighbours, in both directions."""
    near: dict[str, set[str]] = {name: set() for name in names}
    for one, other in links:
        if one in near and other in near and one != other:
            near[one].add(other)
            near[other].add(one)
    return near


def columns_of(
    names: Collection[str], near: Mapping[str, set[str]], begins: Mapping[str, int]
) -> list[list[str]]:
    """Return the instances by their distance from an initiator."""
    steps: dict[str, int] = {}
    waiting = deque(name for name in sorted(names) if begins.get(name, 0) > 0)
    steps.update(dict.fromkeys(waiting, 0))
    rest = sorted(names, key=lambda name: (-len(near[name]), name))
    while len(steps) < len(names):
        if not waiting:  # no initiator: use the instance with the most neighbours
            first = next(name for name in rest if name not in steps)
            steps[first] = 0
            waiting.append(first)
        _walk(waiting, near, steps)
    columns: list[list[str]] = [[] for _ in range(max(steps.values(), default=-1) + 1)]
    for name in sorted(names):
        columns[steps[name]].append(name)
    return columns


def _walk(waiting: deque[str], near: Mapping[str, set[str]], steps: dict[str, int]) -> None:
    while waiting:
        name = waiting.popleft()
        for other in sorted(near[name]):
            if other not in steps:
                steps[other] = steps[name] + 1
                waiting.append(other)


def ordered(columns: Sequence[list[str]], near: Mapping[str, set[str]]) -> list[list[str]]:
    """Order each column by the positions of its neighbours, forwards and backwards a few times."""
    made = [list(column) for column in columns]
    for sweep in range(_SWEEPS):
        numbers = range(1, len(made)) if sweep % 2 == 0 else range(len(made) - 2, -1, -1)
        for number in numbers:
            beside = made[number - 1 if sweep % 2 == 0 else number + 1]
            at = {name: place / max(1, len(beside) - 1) for place, name in enumerate(beside)}
            made[number].sort(key=lambda name: (_middle(near[name], at), name))
    return made


def _middle(names: Iterable[str], at: Mapping[str, float]) -> float:
    found = [at[name] for name in names if name in at]
    return sum(found) / len(found) if found else 0.5


def _crowded(columns: Sequence[Sequence[str]], near: Mapping[str, set[str]]) -> bool:
    """Return whether a column of five or more nodes has more links inside it than nodes.

    A circle is clearer then.
    """
    for column in columns:
        inside = sum(len(near[name] & set(column)) for name in column) / 2
        if inside > len(column) > 4:
            return True
    return False


def _parts(column: Sequence[str]) -> list[list[str]]:
    count = max(1, math.ceil(len(column) / _TALL))
    each = math.ceil(len(column) / count)
    return [list(column[at : at + each]) for at in range(0, len(column), each)]


def _rows(columns: Sequence[Sequence[str]]) -> Picture:
    most = max((len(column) for column in columns), default=0)
    height = most * _ROW + 2 * _MARGIN
    gaps = max(0, len(columns) - 1)
    apart = min(_WIDEST, max(_NARROWEST, (_WIDE - WIDTH - 2 * _MARGIN) / max(1, gaps)))
    places = {
        name: (
            _MARGIN + WIDTH / 2 + number * apart,
            _MARGIN + (most - len(column)) * _ROW / 2 + (row + 0.5) * _ROW,
        )
        for number, column in enumerate(columns)
        for row, name in enumerate(column)
    }
    width = gaps * apart + WIDTH + 2 * _MARGIN
    return Picture(places, width, height)


def _circle(names: Sequence[str]) -> Picture:
    # Halfway between top and side, neighbours must not overlap in at least one direction.
    wide, high = (len(names) * each * math.sqrt(2) / math.tau for each in (WIDTH + 8, HEIGHT + 8))
    angles = {name: math.tau * number / len(names) for number, name in enumerate(names)}
    places = {
        name: (
            _MARGIN + WIDTH / 2 + wide * (1 + math.sin(angle)),
            _MARGIN + HEIGHT / 2 + high * (1 - math.cos(angle)),
        )
        for name, angle in angles.items()
    }
    return Picture(places, 2 * wide + WIDTH + 2 * _MARGIN, 2 * high + HEIGHT + 2 * _MARGIN)
