"""Merge values by their keys in memory that does not grow: sorted runs, spilled and merged."""

from __future__ import annotations

import heapq
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import IO, TypeVar

V = TypeVar("V")

KEYS = 100_000
"""How many keys are in memory before they are spilled."""


def group(
    items: Iterable[tuple[str, V]], merge: Callable[[V, V], V], *, keys: int = KEYS
) -> Iterator[tuple[str, V]]:
    """Yield every key once, in order, with its values merged; ``merge`` takes any order."""
    with ExitStack() as files:
        runs: list[Iterator[tuple[str, V]]] = []
        held: dict[str, V] = {}
        for key, value in items:
            held[key] = merge(held[key], value) if key in held else value
            if len(held) >= keys:
                runs.append(_spilled(files, held))
                held = {}
        yield from _merged(heapq.merge(*runs, sorted(held.items(), key=_KEY), key=_KEY), merge)


_KEY = itemgetter(0)


def _spilled(files: ExitStack, held: dict[str, V]) -> Iterator[tuple[str, V]]:
    file = files.enter_context(tempfile.TemporaryFile(prefix="hopline-"))  # noqa: SIM115
    for item in sorted(held.items(), key=_KEY):
        pickle.dump(item, file, pickle.HIGHEST_PROTOCOL)
    file.seek(0)
    return _read(file, len(held))


def _read(file: IO[bytes], count: int) -> Iterator[tuple[str, V]]:
    for _ in range(count):
        item: tuple[str, V] = pickle.load(file)
        yield item


def _merged(items: Iterable[tuple[str, V]], merge: Callable[[V, V], V]) -> Iterator[tuple[str, V]]:
    for key, same in groupby(items, key=_KEY):
        yield key, reduce(merge, (value for _, value in same))
