"""Write a diagram in Mermaid's language; late arrivals show their time."""

from __future__ import annotations

from streams.diagram.rows import (
    Diagram,
    DiagramRow,
    Participant,
    Place,
    Shape,
    arrives_late,
    printable,
    seconds,
)

_ESCAPES = {c: f"#{ord(c)};" for c in "#;<>&"}


def mermaid_text(diagram: Diagram) -> str:
    """Return the text of a ``sequenceDiagram``."""
    ids = {p.place: f"p{number}" for number, p in enumerate(diagram.participants)}
    lines = ["sequenceDiagram", f"  title {_title(diagram.title)}"]
    lines += [_participant(p, ids[p.place]) for p in diagram.participants]
    rows = diagram.rows
    lines += [_row(row, ids, late=arrives_late(rows, n)) for n, row in enumerate(rows)]
    if diagram.left_out and ids:
        ends = [diagram.participants[0].place, diagram.participants[-1].place]
        left_out = "<br/>".join(_escaped(sentence) for sentence in diagram.left_out)
        lines.append(f"  note over {_over(ends, ids)}: left out:<br/>{left_out}")
    return "\n".join(lines) + "\n"


def _participant(participant: Participant, name: str) -> str:
    where = f"<br/>{_escaped(participant.where)}" if participant.where else ""
    return f"  participant {name} as {_escaped(participant.name)}{where}"


def _row(row: DiagramRow, ids: dict[Place, str], *, late: bool) -> str:
    text = f"{seconds(row.at)} {_escaped(row.text)}"
    if not row.shape.is_arrow:
        return f"  note over {_over(row.ends, ids)}: {text}"
    if row.is_lost:
        text += ", lost"
    elif late and row.arrived is not None:
        text += f", there {'by' if row.count > 1 else 'at'} {seconds(row.arrived)}"
    line = "--" if row.shape is Shape.ACK else "-"
    head = "x" if row.is_lost else ">>"
    return f"  {ids[row.ends[0]]}{line}{head}{ids[row.ends[1]]}: {text}"


def _over(ends: tuple[Place, ...] | list[Place], ids: dict[Place, str]) -> str:
    order = list(ids)
    first, last = min(ends, key=order.index), max(ends, key=order.index)
    return ids[first] if first == last else f"{ids[first]},{ids[last]}"


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(c, c) for c in printable(text))


def _title(text: str) -> str:
    """Return a title without special characters, because Mermaid allows no escapes in titles."""
    return "".join(c if c not in _ESCAPES else " " for c in printable(text))
