"""Count the visits in ``sb-hop`` before it is decoded; few bytes may encode thousands of visits."""

from __future__ import annotations

from streams.wire.bounds import MOST_VISITS
from streams.wire.single_object import PREFIX_LENGTH, MalformedError, read_long


def demand_few(visits: int, most: int = MOST_VISITS) -> None:
    """Raise MalformedError if a journey has more visits than a copy can make."""
    if visits > most:
        raise MalformedError(f"Hop: {visits:,} visits, at most {most}")


def count_visits(raw: bytes, most: int = MOST_VISITS) -> int:
    """Return the number of visits; stop counting when it exceeds ``most``.

    The layout is the same as in :mod:`streams.wire.hop`, with numbers of any length. Raises
    MalformedError if the header ends too early.
    """
    try:
        return _count(raw, most)
    except (IndexError, ValueError):
        raise MalformedError("Hop: the path is not complete") from None


def _count(raw: bytes, most: int) -> int:
    at, visits = PREFIX_LENGTH, 0
    for instant in (8, 8, 0):  # after hops_remaining, attempt and first_hop
        _, at = read_long(raw, at)
        at += instant
    while True:
        count, at = read_long(raw, at)
        visits += abs(count)
        if not count or visits > most:
            return visits
        if count < 0:  # the size of the block follows
            _, at = read_long(raw, at)
        for _ in range(abs(count)):
            length, at = read_long(raw, at)
            _, at = read_long(raw, at + length)
