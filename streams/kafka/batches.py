"""Requests of bounded size, because the controller refuses operations above 10,000 records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

RECORDS = 1_000
"""Maximum number of controller records per request, unless a single entry causes more."""

T = TypeVar("T")


def batches(entries: Iterable[T], records: Callable[[T], int] = lambda _: 1) -> Iterator[list[T]]:
    """Yield the entries in their order, in lists that are small enough for one request.

    ``records`` returns the number of controller records that an entry causes.
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
