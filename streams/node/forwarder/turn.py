"""Whose turn it is among several addresses, at each instance that has to choose on a way.

A retry tries the next address, there and back. Were the attempt's number alone what decides, all
who choose on the round trip would move in step, and some ways would never be tried: with two
addresses at either end, attempts 1, 3, 5 ... go by the second address there, and what they provoke
would always come back by the same one. So each place on the way counts its rounds otherwise; every
combination has its turn, where counts are equal as soon as can be.
"""

from __future__ import annotations


def turn_at_origin(attempt: int, count: int, *, returning: bool) -> int:
    """Return which of ``count`` addresses a frame that begins here is due to take first.

    ``returning``: it goes to the initiator. Every other round then begins one address later.
    """
    return attempt + attempt // (2 * count) if returning else attempt


def turn_at_gateway(attempt: int, count: int, visits: int) -> int:
    """Return which of ``count`` addresses a copy from outside tries first: attempt 0 the first one.

    The n-th on the way (``visits``) adds a step with every round of its own, its rounds' rounds,
    ...: with equal counts every combination has its turn once, else soon.
    """
    rounds = turn = attempt
    if count < 2 or not attempt:
        return turn
    for _ in range(visits):
        rounds //= count
        turn += rounds
    return turn
