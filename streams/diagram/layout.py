"""The layout of an SVG diagram in pixels: columns, lines of text, heights.

The reader's fonts are unknown. To keep texts from overlapping in any usual font, widths are
estimated with a wide font (DejaVu Sans).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from streams.diagram.rows import Diagram, DiagramRow, Participant, Place, arrives_late
from streams.prose import wrapped

FONT = 12
LINE = 15
"""Line height."""
MARGIN = 16
TIMES = 56
"""The width of the time column."""
HEAD = 44
"""The height of a participant's box."""
PAD = 8
_NARROWEST = 96  # from one lifeline to the next
_ARROW_CHARACTERS, _NOTE_CHARACTERS = 40, 28
_NARROW, _WIDE = frozenset(" .,:;'|!()[]/ijlft"), frozenset("mwMW@%…–→")


def text_width(text: str) -> float:
    """Return the maximum width of a line of text."""
    return sum(
        FONT * (0.4 if c in _NARROW else 1.0 if c in _WIDE or ord(c) > 0x2FF else 0.66)
        for c in text
    )


@dataclass(frozen=True, slots=True)
class Slot:
    """A row at its height: ``y`` is the line of an arrow, or the upper edge of a note's box.

    ``lands`` is the height at which a late arrow arrives.
    """

    row: DiagramRow
    lines: tuple[str, ...]
    y: float
    lands: float | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """All positions; ``times`` contains the heights of baselines, and the times in microseconds."""

    width: float
    height: float
    columns: Mapping[Place, float]
    slots: tuple[Slot, ...]
    times: tuple[tuple[float, int], ...]
    top: float
    bottom: float
    left_out: tuple[str, ...]


def lay_out(diagram: Diagram, *, titled: bool = True) -> Layout:
    """Return the layout of a diagram; ``titled``: whether it has a title above it."""
    columns = _columns(diagram)
    last = max(columns.values(), default=float(MARGIN + TIMES))
    width = last + _right(diagram, columns) + MARGIN
    top = MARGIN + 2 * LINE if titled else PAD
    slots, times, bottom = _slots(diagram, top + HEAD + PAD)
    left_out = tuple(
        line
        for sentence in diagram.left_out
        for line in wrapped(f"left out: {sentence}", width=int(width / (FONT * 0.66)))
    )
    height = bottom + HEAD + MARGIN + len(left_out) * LINE
    return Layout(width, height, columns, slots, times, top, bottom, left_out)


# --- columns -------------------------------------------------------------------------------------


def head_width(participant: Participant) -> float:
    """Return the width of a participant's box."""
    name, where = text_width(participant.name), text_width(participant.where)
    return max(name * 1.16, where * 0.92) + 2 * PAD  # the name is bold and large, the place small


def _columns(diagram: Diagram) -> dict[Place, float]:
    """Return the lifelines, as close to each other as their content allows."""
    order = {p.place: n for n, p in enumerate(diagram.participants)}
    halves = [head_width(p) / 2 for p in diagram.participants]
    for row in diagram.rows:
        if not row.shape.is_arrow and len(row.ends) == 1:
            at = order[row.ends[0]]
            halves[at] = max(halves[at], _box(row) / 2)
    gaps: dict[tuple[int, int], float] = {}
    for row in diagram.rows:
        if row.shape.is_arrow and len(set(row.ends)) > 1:
            a, b = sorted(order[end] for end in row.ends)
            wanted = max(map(text_width, _lines(row)), default=0) + 4 * PAD
            gaps[a, b] = max(wanted, gaps.get((a, b), 0.0))
    xs: list[float] = []
    for n in range(len(diagram.participants)):
        if n == 0:
            xs.append(MARGIN + TIMES + PAD + halves[0])
            continue
        least = _nearest(diagram, n, halves)
        spans = (xs[a] + wanted for (a, b), wanted in gaps.items() if b == n)
        xs.append(max(xs[-1] + least, *spans, 0.0))
    return {p.place: round(x, 1) for p, x in zip(diagram.participants, xs, strict=True)}


def _nearest(diagram: Diagram, n: int, halves: Sequence[float]) -> float:
    """Return a lifeline's minimum distance from the previous one, so that no box covers it."""
    one, two = diagram.participants[n - 1], diagram.participants[n]
    heads = head_width(one) / 2 + head_width(two) / 2 + 3 * PAD
    return max(_NARROWEST, heads, halves[n - 1] + PAD, halves[n] + PAD)


def _right(diagram: Diagram, columns: Mapping[Place, float]) -> float:
    """Return the space that the last lifeline needs to its right."""
    last = diagram.participants[-1] if diagram.participants else None
    if last is None:
        return 0.0
    boxes = [_box(r) / 2 for r in diagram.rows if r.ends == (last.place,)]
    beyond = max(columns.values()) - columns[last.place]
    return max(head_width(last) / 2, *boxes, 0.0) - beyond


# --- rows ----------------------------------------------------------------------------------------


def _lines(row: DiagramRow) -> tuple[str, ...]:
    text = row.text + (", lost" if row.is_lost else "")
    most = _ARROW_CHARACTERS if row.shape.is_arrow else _NOTE_CHARACTERS
    most = most * len(row.ends) if not row.shape.is_arrow else most
    return tuple(wrapped(text, width=most, break_words=True))


def _box(row: DiagramRow) -> float:
    return max(map(text_width, _lines(row))) + 2 * PAD


def label_at(slot: Slot, columns: Mapping[Place, float]) -> tuple[float, str]:
    """Return the anchor and alignment of an arrow's text, which is at the start if slanting."""
    x1, x2 = (columns[end] for end in slot.row.ends)
    if slot.lands is None:
        return (x1 + x2) / 2, "middle"
    return (x1 + PAD, "start") if x2 >= x1 else (x1 - PAD, "end")


def box_of(slot: Slot, columns: Mapping[Place, float]) -> tuple[float, float]:
    """Return the left edge and the width of a note's box."""
    xs = [columns[end] for end in slot.row.ends]
    middle = (min(xs) + max(xs)) / 2
    width = max(_box(slot.row), max(xs) - min(xs) + 4 * PAD if len(xs) > 1 else 0.0)
    return middle - width / 2, width


def _slots(
    diagram: Diagram, y: float
) -> tuple[tuple[Slot, ...], tuple[tuple[float, int], ...], float]:
    """Return the rows from top to bottom, the times next to them, and the lower end."""
    slots: dict[int, Slot] = {}
    times: list[tuple[float, int]] = []
    for number, lands in _in_time(diagram.rows):
        row = diagram.rows[number]
        if lands:
            y += LINE
            slots[number] = _landed(slots[number], y - 4)
            assert row.arrived is not None
            times.append((y, row.arrived))
            continue
        lines = _lines(row)
        if row.shape.is_arrow:
            y += PAD + LINE * len(lines) + 4
            slots[number] = Slot(row, lines, y)
            times.append((y, row.at))
        else:
            y += PAD + 2
            slots[number] = Slot(row, lines, y)
            times.append((y + LINE, row.at))
            y += LINE * len(lines) + PAD
    return tuple(slots[n] for n in sorted(slots)), tuple(times), y + 2 * PAD


def _landed(slot: Slot, y: float) -> Slot:
    return Slot(slot.row, slot.lines, slot.y, y)


def _in_time(rows: Sequence[DiagramRow]) -> Iterator[tuple[int, bool]]:
    """Yield each row, with the arrivals of late rows in time order."""
    flying: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        while flying and flying[0][0] <= row.at:
            yield flying.pop(0)[1], True
        yield number, False
        if row.arrived is not None and arrives_late(rows, number):
            flying = sorted([*flying, (row.arrived, number)])
    yield from ((number, True) for _, number in flying)
