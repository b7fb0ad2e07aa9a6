"""Python's garbage collector, as a process full of workers needs it.

Workers make many values and no cycles of them: what they let go is gone at once. By default the
collector looks through the values of a batch again and again while they are still in use, which was
half of an endpoint worker's time, and now and then through every open dialog.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_YOUNG = 200_000
"""So many more values than before let the collector look: those of one large batch do not."""


_found: list[tuple[int, int, int]] = []
"""What each that has it open has found; the first one, how it was."""
_changing = threading.Lock()


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Let the collector look rarely, and never at what exists already, as long as this is open.

    Several may have it open, and end in any order: the last one leaves the collector as it was.
    """
    with _changing:
        _found.append(gc.get_threshold())
        gc.collect()
        gc.freeze()
        gc.set_threshold(_YOUNG, *_found[0][1:])
    try:
        yield
    finally:
        with _changing:
            before = _found.pop()
            if not _found:
                gc.set_threshold(*before)
                gc.unfreeze()


def keep() -> None:
    """Let the collector never look at what exists by now: the dialogs that were brought back."""
    gc.freeze()
