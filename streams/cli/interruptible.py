"""Stop a command cleanly on signals."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(*signals: signal.Signals) -> Iterator[Callable[[], bool]]:
    """Request a stop on the first of these signals; a second signal has its default effect.

    Yields a function that returns whether a signal has arrived.
    """
    asked = False

    def ask(_: int, __: FrameType | None) -> None:
        nonlocal asked
        asked = True
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, ask) for number in signals}
    try:
        yield lambda: asked
    finally:
        restore()
