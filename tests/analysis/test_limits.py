"""The analysis uses the limits of a dialog, from the one place where they are defined."""

from __future__ import annotations

from streams.analysis.check.forward_memory import FRAGMENT
from streams.analysis.paths.moves import HOPS
from streams.protocol import Limits


def test_paths_and_memory_are_checked_against_the_limits_of_dialogs() -> None:
    assert (Limits().hops, Limits().fragment) == (HOPS, FRAGMENT)


def test_an_error_fits_into_a_frame_of_any_fragment_size() -> None:
    """An Error is never split, so small fragments do not make a frame smaller."""
    assert Limits(fragment=8).frame == Limits().fragment
    assert Limits(fragment=100_000).frame == 100_000
