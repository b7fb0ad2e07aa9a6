"""Merge values by key in bounded memory, with sorted runs that are spilled to disk and merged."""

from __future__ import annotations

import heapq
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial, reduce
from itertools import chain, groupby
from operator import itemgetter
from typing import TypeVar

V = TypeVar("V")

KEYS = 20_000
"""Maximum number of keys in memory before they are spilled."""
_RUNS = 64  # files open at the same time

_KEY = itemgetter(0)


def group(
    items: Iterable[tuple[str, V]], merge: Callable[[V, V], V], *, keys: int = KEYS
) -> Iterator[tuple[str, V]]:
    """Yield every key once, in order, with its values merged; ``merge`` must be commutative."""
    with ExitStack() as files:
        runs: list[Iterable[tuple[str, V]]] = []
        held: dict[str, V] = {}
        for key, value in items:
            held[key] = merge(held[key], value) if key in held else value
            if len(held) < keys:
                continue
            runs.append(_spilled(files, sorted(held.items(), key=_KEY)))
            held = {}
            if len(runs) == _RUNS:
                with files.pop_all():
                    runs = [_spilled(files, _merged(runs, merge))]
        yield from _merged([*runs, sorted(held.items(), key=_KEY)], merge)


def _merged(
    runs: Iterable[Iterable[tuple[str, V]]], merge: Callable[[V, V], V]
) -> Iterator[tuple[str, V]]:
    for key, same in groupby(heapq.merge(*runs, key=_KEY), key=_KEY):
        yield key, reduce(merge, (value for _, value in same))


def _spilled(files: ExitStack, items: Iterable[tuple[str, V]]) -> Iterator[tuple[str, V]]:
    """Write a run and return an iterator over it; ``None`` marks its end."""
    file = files.enter_context(tempfile.TemporaryFile(prefix="hopline-"))  # noqa: SIM115
    for item in chain(items, (None,)):
        pickle.dump(item, file, pickle.HIGHEST_PROTOCOL)
    file.seek(0)
    return iter(partial(pickle.load, file), None)
