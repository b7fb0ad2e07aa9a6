"""Count what code does, to show that its work grows no faster than its input."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import streams

_ROOT = str(Path(streams.__file__).parent)


def lines_run(action: Callable[[], object]) -> int:
    """Return how many lines of the package an action executes, repeated ones included."""
    count = 0

    def local(_frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal count
        count += event == "line"
        return local

    def begin(frame: FrameType, _event: str, _arg: object) -> Any:
        return local if frame.f_code.co_filename.startswith(_ROOT) else None

    before = sys.gettrace()
    sys.settrace(begin)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def grows_linearly(action: Callable[[int], object], size: int) -> bool:
    """Return whether an action does at most 2.5 times the work for twice the size."""
    for n in (size, 2 * size):
        action(n)  # fill caches
    one, two = (lines_run(lambda n=n: action(n)) for n in (size, 2 * size))
    return two < 2.5 * one
