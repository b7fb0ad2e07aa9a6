"""A diagram as a picture: one SVG file without scripts, links or fonts of its own.

Time runs downwards and stands on the left; what arrives late slants. The picture paints its own
background, so it can be read on paper and in a light or a dark page; nothing is said by colour
alone, and no variables are used, for not every viewer of SVG knows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from xml.sax.saxutils import escape

from streams.simulator.diagram.layout import (
    FONT,
    HEAD,
    LINE,
    MARGIN,
    PAD,
    TIMES,
    Layout,
    Slot,
    box_of,
    head_width,
    label_at,
    lay_out,
)
from streams.simulator.diagram.rows import Diagram, Participant, Shape, printable, seconds

_INK = {
    # what          light      dark
    "ground": ("#ffffff", "#14171c"),
    "ink": ("#1f2328", "#e6e8eb"),
    "faint": ("#6a737d", "#9aa4af"),
    "life": ("#c8ced6", "#3b434d"),
    "box": ("#f2f4f7", "#232932"),
    "call": ("#57606a", "#aab4bf"),
    "message": ("#0b57d0", "#7aa9ff"),
    "ack": ("#18794e", "#5cc98f"),
    "bad": ("#c5221f", "#ff8a80"),
    "end": ("#7b2ea8", "#d09cf5"),
    "note": ("#fff9e0", "#332f1c"),
    "trouble": ("#fdeceb", "#40211f"),
    "fault": ("#efe9f9", "#2e2740"),
}
_STROKES = {
    Shape.STATEMENT: "call",
    Shape.QUEUED: "call",
    Shape.MESSAGE: "message",
    Shape.ACK: "ack",
    Shape.ERROR: "bad",
    Shape.END: "end",
}
_FILLS = {
    Shape.NOTE: "note",
    Shape.TROUBLE: "trouble",
    Shape.FAULT: "fault",
    Shape.AGAIN: "box",
}
_FONTS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, "
    "'DejaVu Sans', sans-serif"
)
_FLIES = 0.72  # how far of its way a lost copy is drawn
_CROSS = 4.5


def svg_text(diagram: Diagram) -> str:
    """Return the picture; the same diagram gives the same bytes."""
    layout = lay_out(diagram)
    width, height = _n(layout.width), _n(layout.height)
    said = f"Sequence diagram: {', '.join(p.name for p in diagram.participants)}"
    late = [s for s in layout.slots if s.lands is not None]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(printable(diagram.title))}</title>",
        f"<desc>{escape(printable(said))}</desc>",
        f"<style>{_style()}</style>",
        f'<rect class="f-ground" width="{width}" height="{height}"/>',
        _text(MARGIN, MARGIN + FONT, diagram.title, "title"),
        *_lifelines(diagram, layout),
        *(part for slot in late for part in _arrow(slot, layout)),
        *(part for slot in layout.slots for part in _slot(slot, layout)),
        *_times(layout),
        *(
            _text(MARGIN, layout.bottom + HEAD + LINE * (n + 1), line, "faint")
            for n, line in enumerate(layout.left_out)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _style() -> str:
    light, dark = (
        "".join(
            f".f-{name}{{fill:{both[page]}}}.s-{name}{{stroke:{both[page]}}}"
            for name, both in _INK.items()
        )
        + f"text{{fill:{_INK['ink'][page]}}}"
        + f".halo{{stroke:{_INK['ground'][page]}}}"
        + f".faint,.time{{fill:{_INK['faint'][page]}}}"
        for page in (0, 1)
    )
    always = (
        f"text{{font:{FONT}px {_FONTS}}}"
        ".title{font-size:15px;font-weight:600}.name{font-size:13px;font-weight:600}"
        ".where{font-size:11px}"
        ".time{font-variant-numeric:tabular-nums}"
        ".halo{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}"
        ".line{fill:none;stroke-width:1.5}.dash{stroke-dasharray:6 3}.life{stroke-width:1}"
        ".edge{stroke-width:1}"
    )
    return f"{always}{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"


# --- participants and times ----------------------------------------------------------------------


def _lifelines(diagram: Diagram, layout: Layout) -> Iterator[str]:
    for participant in diagram.participants:
        x = _n(layout.columns[participant.place])
        y1, y2 = _n(layout.top + HEAD), _n(layout.bottom)
        dash = ' stroke-dasharray="2 4"' if participant.is_service else ""
        yield f'<line class="life s-life" x1="{x}" y1="{y1}" x2="{x}" y2="{y2}"{dash}/>'
    for participant in diagram.participants:
        yield from _head(participant, layout.columns[participant.place], layout.top)
    for participant in diagram.participants:
        yield from _head(participant, layout.columns[participant.place], layout.bottom)


def _head(participant: Participant, x: float, y: float) -> Iterator[str]:
    width, height = head_width(participant), HEAD - PAD
    round_ = height / 2 if participant.is_service else 4
    yield (
        f'<rect class="edge f-box s-life" x="{_n(x - width / 2)}" y="{_n(y)}" width="{_n(width)}" '
        f'height="{_n(height)}" rx="{_n(round_)}"/>'
    )
    middle = y + height / 2 + 4.5
    if participant.where:
        yield _text(x, middle - 7, participant.name, "name", "middle")
        yield _text(x, middle + 7, participant.where, "where faint", "middle")
    else:
        yield _text(x, middle, participant.name, "name", "middle")


def _times(layout: Layout) -> Iterator[str]:
    """Yield each time once, however many rows are of it."""
    before = ""
    yield _text(MARGIN + TIMES - PAD, layout.top + HEAD / 2, "seconds", "where faint", "end")
    for y, at in layout.times:
        text = seconds(at)
        if text != before:
            yield _text(MARGIN + TIMES - PAD, y, text, "time", "end")
        before = text


# --- rows ----------------------------------------------------------------------------------------


def _slot(slot: Slot, layout: Layout) -> Iterator[str]:
    if not slot.row.shape.is_arrow:
        yield from _note(slot, layout)
        return
    if slot.lands is None:
        yield from _arrow(slot, layout)
    yield from _label(slot, layout)


def _arrow(slot: Slot, layout: Layout) -> Iterator[str]:
    row = slot.row
    x1, x2 = (layout.columns[end] for end in row.ends)
    y1, y2 = slot.y, slot.y if slot.lands is None else slot.lands
    stroke = _STROKES[row.shape]
    if row.is_lost:
        x2 = x1 + (x2 - x1) * _FLIES
    dash = " dash" if row.shape is Shape.ACK else ""
    length = sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2) or 1.0
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    tip = (x2 - dx, y2 - dy)
    yield (
        f'<path class="line{dash} s-{stroke}" d="M{_n(x1)} {_n(y1)}'
        f'L{_n(tip[0] - 6 * dx)} {_n(tip[1] - 6 * dy)}"/>'
    )
    if row.is_lost:
        x, y, b = _n(x2 - _CROSS), _n(y2 - _CROSS), _n(2 * _CROSS)
        yield f'<path class="line s-bad" d="M{x} {y}l{b} {b}m0 -{b}l-{b} {b}"/>'
        return
    points = ((0.0, 0.0), (-9.0, -4.0), (-9.0, 4.0))
    shape = " ".join(
        f"{_n(tip[0] + a * dx - b * dy)},{_n(tip[1] + a * dy + b * dx)}" for a, b in points
    )
    yield f'<polygon class="f-{stroke}" points="{shape}"/>'


def _label(slot: Slot, layout: Layout) -> Iterator[str]:
    x, anchor = label_at(slot, layout.columns)
    above = 9 if slot.row.is_lost else 6  # a cross is higher than a line
    first = slot.y - above - LINE * (len(slot.lines) - 1)
    for n, line in enumerate(slot.lines):
        yield _text(x, first + LINE * n, line, "halo", anchor)


def _note(slot: Slot, layout: Layout) -> Iterator[str]:
    x, width = box_of(slot, layout.columns)
    height = LINE * len(slot.lines) + PAD - 1
    edge = "bad" if slot.row.shape is Shape.TROUBLE else "life"
    yield (
        f'<rect class="edge f-{_FILLS[slot.row.shape]} s-{edge}" x="{_n(x)}" y="{_n(slot.y)}" '
        f'width="{_n(width)}" height="{_n(height)}" rx="3"/>'
    )
    for n, line in enumerate(slot.lines):
        yield _text(x + width / 2, slot.y + LINE * (n + 1), line, "", "middle")


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    style = f' class="{kind}"' if kind else ""
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{style} x="{_n(x)}" y="{_n(y)}"{at}>{escape(printable(text))}</text>'


def _n(number: float) -> str:
    """Return a number with at most one decimal: ``12``, ``12.5``."""
    return f"{number:.1f}".removesuffix(".0")
