"""Requests of bounded size: the controller refuses an operation of more than 10,000 records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

RECORDS = 1_000
"""Records of the controller that one request leads to, unless a single entry has more."""

T = TypeVar("T")


def batches(entries: Iterable[T], records: Callable[[T], int] = lambda _: 1) -> Iterator[list[T]]:
    """Yield the entries in their order, in lists that one request may have.

    ``records``: how many records of the controller an entry leads to.
    """
    batch: list[T] = []
    total = 0
    for entry in entries:
        count = records(entry)
        if batch and total + count > RECORDS:
            yield batch
            batch, total = [], 0
        batch.append(entry)
        total += count
    if batch:
        yield batch
