"""Which rules a test is evidence of; the conformance page is made from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., None])


def shows(*rules: str) -> Callable[[Test], Test]:
    """Say which rules of the conformance page a test shows; the outermost decorator."""

    def mark(test: Test) -> Test:
        test.shows = rules  # type: ignore[attr-defined]
        return test

    return mark
