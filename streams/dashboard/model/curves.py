"""Draw links between boxes as curves, each direction on its own side."""

from __future__ import annotations

from dataclasses import dataclass

from streams.dashboard.model.placing import HEIGHT, WIDTH

_APART = 6
"""Units between the curves of the two directions, on each side of the middle."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The path of a link, and the position of its label."""

    path: str
    x: float
    y: float


def curve(start: tuple[float, float], end: tuple[float, float], *, label: float = 0.5) -> Curve:
    """Return the curve between two boxes, given by their centres; ``label``: its place, 0 to 1."""
    if abs(end[0] - start[0]) > WIDTH:
        return _across(start, end, label)
    return _beside(start, end)


def _across(start: tuple[float, float], end: tuple[float, float], label: float) -> Curve:
    side = 1 if end[0] > start[0] else -1
    x1, x2 = start[0] + side * WIDTH / 2, end[0] - side * WIDTH / 2
    y1, y2 = start[1] - side * _APART, end[1] - side * _APART
    bend = (x2 - x1) / 2
    path = f"M{x1:.0f} {y1:.0f}C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
    t, u = label, 1 - label
    x = u**3 * x1 + 3 * u * u * t * (x1 + bend) + 3 * u * t * t * (x2 - bend) + t**3 * x2
    y = (u**3 + 3 * u * u * t) * y1 + (3 * u * t * t + t**3) * y2
    # Above a curve that leads to the right, below a curve that leads to the left.
    return Curve(path, x, y + (-6 if side > 0 else 14))


def _beside(start: tuple[float, float], end: tuple[float, float]) -> Curve:
    """Return a curve at the boxes' outer side: downwards on the right, upwards on the left."""
    side = 1 if end[1] > start[1] else -1
    x1, x2 = start[0] + side * WIDTH / 2, end[0] + side * WIDTH / 2
    y1, y2 = start[1] + side * HEIGHT / 8, end[1] - side * HEIGHT / 8
    out = side * min(90.0, 34 + abs(y2 - y1) / 5)
    path = f"M{x1:.0f} {y1:.0f}C{x1 + out:.0f} {y1:.0f} {x2 + out:.0f} {y2:.0f} {x2:.0f} {y2:.0f}"
    return Curve(path, (x1 + x2) / 2 + out * 0.75, (y1 + y2) / 2 + 4)
