"""Write a diagram as one SVG file without scripts, links or fonts.

Time runs downwards, with labels on the left; late arrows slant. The picture paints its own
background, so it is readable on paper and on light or dark pages. No information is conveyed by
colour alone, and no CSS variables are used, because some viewers do not support them. Its style
rules are scoped, so that it can be embedded in a page, where its rows are links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import sqrt
from xml.sax.saxutils import escape

from streams.diagram.layout import (
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
from streams.diagram.rows import Diagram, Participant, Shape, printable, seconds

_INK = {
    # name light dark
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
    "chosen": ("#e4eefe", "#1d2f4d"),
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
_LEAST = 0.72
_FLIES = 0.72  # a lost copy is drawn over this part of its path
_CROSS = 4.5
_QUOTE = {'"': "&quot;"}


@dataclass(frozen=True, slots=True)
class Links:
    """The targets of rows with keys, in a dashboard page; ``to`` returns the link of a key.

    ``chosen`` is the selected key. The page has ``data-theme`` for dark mode.
    """

    to: Callable[[int], str]
    chosen: int | None = None


def svg_text(diagram: Diagram, links: Links | None = None) -> str:
    """Return the picture; the same diagram gives the same bytes.

    Without ``links``, it is a standalone file that follows the light or dark theme of the system.
    """
    layout = lay_out(diagram, titled=links is None)
    width, height = _n(layout.width), _n(layout.height)
    description = f"Sequence diagram: {', '.join(p.name for p in diagram.participants)}"
    late = [s for s in layout.slots if s.lands is not None]
    role = 'role="img"'
    if links is not None:  # reduced where necessary, but not below a readable size
        role = f'role="group" style="max-width:100%;min-width:{_n(layout.width * _LEAST)}px"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" class="sequence" {role}>',
        f"<title>{escape(printable(diagram.title))}</title>",
        f"<desc>{escape(printable(description))}</desc>",
        f"<style>{_style(in_page=links is not None)}</style>",
        *(_own_ground(diagram, layout) if links is None else ()),
        *_lifelines(diagram, layout),
        *(part for slot in late for part in _arrow(slot, layout)),
        *(part for slot in layout.slots for part in _slot(slot, layout, links)),
        *_times(layout),
        *(
            _text(MARGIN, layout.bottom + HEAD + LINE * (n + 1), line, "faint")
            for n, line in enumerate(layout.left_out)
        ),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _own_ground(diagram: Diagram, layout: Layout) -> Iterator[str]:
    """Yield the parts that only a standalone file needs: background and title."""
    yield f'<rect class="f-ground" width="{_n(layout.width)}" height="{_n(layout.height)}"/>'
    yield _text(MARGIN, MARGIN + FONT, diagram.title, "title")


def _style(*, in_page: bool) -> str:
    always = (
        f"text{{font:{FONT}px {_FONTS}}}"
        ".title{font-size:15px;font-weight:600}.name{font-size:13px;font-weight:600}"
        ".where{font-size:11px}"
        ".time{font-variant-numeric:tabular-nums}"
        ".halo{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}"
        ".line{fill:none;stroke-width:1.5}.dash{stroke-dasharray:6 3}.life{stroke-width:1}"
        ".edge{stroke-width:1}"
    )
    if in_page:
        always += ".ground{fill:transparent}a{cursor:pointer;outline:none}"
    light, dark = _colours(0), _colours(1)
    if in_page:
        return _scoped(always + light) + _scoped(dark, '[data-theme="dark"] ')
    dark = f"@media screen and (prefers-color-scheme:dark){{{_scoped(dark)}}}"
    return _scoped(always + light) + dark


def _colours(at: int) -> str:
    chosen = _INK["chosen"][at]
    return (
        "".join(
            f".f-{name}{{fill:{both[at]}}}.s-{name}{{stroke:{both[at]}}}"
            for name, both in _INK.items()
        )
        + f"text{{fill:{_INK['ink'][at]}}}"
        + f".halo{{stroke:{_INK['ground'][at]}}}"
        + f".faint,.time{{fill:{_INK['faint'][at]}}}"
        + f"a:hover .ground,a:focus-visible .ground,a[aria-current] .ground{{fill:{chosen}}}"
        + f"a:hover .halo,a:focus-visible .halo,a[aria-current] .halo{{stroke:{chosen}}}"
    )


def _scoped(rules: str, within: str = "") -> str:
    """Return rules that apply only inside the picture."""
    scoped = ""
    for rule in rules.removesuffix("}").split("}"):
        names, _, body = rule.partition("{")
        scoped += ",".join(f"{within}.sequence {n}" for n in names.split(",")) + f"{{{body}}}"
    return scoped


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
    """Yield each time once, for any number of rows."""
    before = ""
    yield _text(MARGIN + TIMES - PAD, layout.top + HEAD / 2, "seconds", "where faint", "end")
    for y, at in layout.times:
        text = seconds(at)
        if text != before:
            yield _text(MARGIN + TIMES - PAD, y, text, "time", "end")
        before = text


# --- rows ----------------------------------------------------------------------------------------


def _slot(slot: Slot, layout: Layout, links: Links | None) -> Iterator[str]:
    keys = slot.row.keys if links is not None else ()
    if links is None or not keys:
        yield from _drawn(slot, layout)
        return
    label = escape(printable(f"{seconds(slot.row.at)} s: {slot.row.text}"), _QUOTE)
    chosen = ' aria-current="true"' if links.chosen in keys else ""
    to = escape(links.to(keys[0]), _QUOTE)
    yield f'<a id="row-{keys[0]}" href="{to}" data-soft="" aria-label="{label}"{chosen}>'
    yield _ground(slot, layout)
    yield from _drawn(slot, layout)
    yield "</a>"


def _ground(slot: Slot, layout: Layout) -> str:
    """Return the background of a row over the whole width, as a pointer target."""
    arrow = slot.row.shape.is_arrow
    height = LINE * len(slot.lines) + (PAD + 4 if arrow else PAD + 3)
    y = slot.y - height + 6 if arrow else slot.y - 2
    return (
        f'<rect class="ground" x="{_n(2)}" y="{_n(y)}" width="{_n(layout.width - 4)}" '
        f'height="{_n(height)}" rx="3"/>'
    )


def _drawn(slot: Slot, layout: Layout) -> Iterator[str]:
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
