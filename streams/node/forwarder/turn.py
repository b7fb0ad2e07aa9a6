"""Choose among several addresses by turns, at each instance on a path.

A retry tries the next address, in both directions. If the attempt's number alone decided, all
choices on a round trip would move in step, and some paths would never be tried: with two addresses
at either end, attempts 1, 3, 5 ... would use the second address, and their answers would always use
the same one back. So each place on the path counts its rounds differently; every combination has
its turn, if counts are equal as soon as possible.
"""

from __future__ import annotations


def turn_at_origin(attempt: int, count: int, *, returning: bool) -> int:
    """Return which of ``count`` addresses a frame sent from here takes first.

    ``returning``: to the initiator. Every other round then begins one address later.
    """
    return attempt + attempt // (2 * count) if returning else attempt


def turn_at_gateway(attempt: int, count: int, visits: int) -> int:
    """Return which of ``count`` addresses a copy from outside tries first: attempt 0 the first one.

    The n-th instance on the path (``visits``) adds a step with every round, round of rounds, ...:
    with equal counts every combination has its turn once, else soon.
    """
    rounds = turn = attempt
    if count < 2 or not attempt:
        return turn
    for _ in range(visits):
        rounds //= count
        turn += rounds
    return turn
