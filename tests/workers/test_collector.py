"""How a process full of workers uses Python's garbage collector."""

from __future__ import annotations

import gc
import weakref

import pytest

from streams.workers.collector import collecting_rarely, keep


def test_the_collector_is_as_before_afterwards() -> None:
    """Also where the process fails."""
    before = gc.get_threshold()
    with pytest.raises(KeyError), collecting_rarely():
        assert gc.isenabled()
        assert gc.get_threshold()[0] >= 100 * before[0]  # 2,000 in Python 3.13 and 3.14
        assert gc.get_freeze_count() > 0
        raise KeyError
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_the_last_of_several_leaves_the_collector_as_it_was() -> None:
    """Processes that run in threads of one need not end in the order in which they began."""
    before = gc.get_threshold()
    first, second = collecting_rarely(), collecting_rarely()
    for one in (first, second):
        one.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] > before[0]
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


class _Cycle:
    def __init__(self) -> None:
        self.own = self


def test_cycles_are_freed_before_values_are_kept() -> None:
    """A frozen cycle is never freed; the XML validator's errors contain some."""
    with collecting_rarely():
        freed = weakref.ref(_Cycle())
        kept = _Cycle()
        assert freed() is not None
        keep()
        assert freed() is None
        assert gc.get_freeze_count() > 0
        assert kept.own is kept
