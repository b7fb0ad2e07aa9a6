"""The priority of a queue message, which anybody may write who may write the queue."""

from __future__ import annotations

import pytest

from streams.protocol import DEFAULT_PRIORITY
from streams.wire.records import PRIORITY, priority_of


@pytest.mark.parametrize("level", range(1, 11))
def test_a_level_is_read_as_it_was_written(level: int) -> None:
    assert priority_of([(PRIORITY, b"%d" % level)]) == level


@pytest.mark.parametrize("raw", [None, b"", b"0", b"11", b"-1", b" 7", b"x", b"9" * 5_000])
def test_anything_else_is_the_default(raw: bytes | None) -> None:
    assert priority_of([(PRIORITY, raw)]) == DEFAULT_PRIORITY


def test_without_a_header_it_is_the_default() -> None:
    assert priority_of([]) == priority_of(None) == DEFAULT_PRIORITY
