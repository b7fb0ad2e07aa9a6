"""How a process full of workers uses Python's garbage collector."""

from __future__ import annotations

import gc

import pytest

from streams.workers.collector import collecting_rarely


def test_the_collector_is_as_before_afterwards() -> None:
    """Also where the process fails."""
    before = gc.get_threshold()
    with pytest.raises(KeyError), collecting_rarely():
        assert gc.isenabled()
        assert gc.get_threshold()[0] > 100 * before[0]
        assert gc.get_freeze_count() > 0
        raise KeyError
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
