"""Tune Python's garbage collector for a process full of workers.

Workers create many values but no reference cycles, so reference counting frees them at once. By
default the collector scans a batch's values again and again while they are in use, which took half
of an endpoint worker's time, and sometimes every open dialog.
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
    """Collect rarely, and never what exists already, while this context is open.

    Contexts may overlap, and close in any order: the last one restores the collector.
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
    """Exclude everything that exists now from collection: the restored dialogs."""
    gc.freeze()
