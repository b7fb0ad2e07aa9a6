"""Seeded random numbers, equal on every platform and version of Python.

Of the standard generator, only ``random()`` is guaranteed to stay the same. Division and square
root are rounded identically everywhere, but a logarithm's last bit depends on the C library. So
this module uses no other functions.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from math import sqrt
from typing import TypeVar

__all__ = ["Chance"]

T = TypeVar("T")


class Chance:
    """A generator with one seed."""

    def __init__(self, seed: int | str) -> None:
        self._random = random.Random(seed).random

    def below(self, bound: int) -> int:
        """Return an integer from 0 to ``bound`` - 1, uniformly distributed."""
        return int(self._random() * bound)

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items."""
        return items[self.below(len(items))]

    def once_in(self, n: int) -> bool:
        """Return true in one of ``n`` draws on average."""
        return self.below(n) == 0

    def heavy(self, mean: float = 1.0) -> float:
        """Return a non-negative number with a heavy tail (Pareto, exponent 2, minus 1)."""
        return mean * (1 / sqrt(1 - self._random()) - 1)

    def guid(self) -> uuid.UUID:
        """Return a UUID in the format of version 4."""
        number = 0
        for _ in range(4):
            number = number << 32 | self.below(1 << 32)
        return uuid.UUID(int=number, version=4)
