"""Choose among several addresses in turn, at each instance on a path.

A retry tries the next address, in both directions. If the choice depended only on the attempt's
number, all choices on a round trip would change together, and some paths would never be tried. For
example, with two addresses at each end, attempts 1, 3, 5 and so on would use the second address,
and their replies would always return through the same address. So each instance on the path changes
its address at a different pace, and every combination of addresses is tried. If all instances have
the same number of addresses, this takes the minimum number of attempts.
"""

from __future__ import annotations


def turn_at_origin(attempt: int, count: int, *, returning: bool) -> int:
    """Return the number, modulo ``count``, of the address that a frame from here tries first.

    ``returning``: the frame is sent to the initiator; then every other round begins one address
    later.
    """
    return attempt + attempt // (2 * count) if returning else attempt


def turn_at_gateway(attempt: int, count: int, visits: int) -> int:
    """Return the same number for a copy from another instance (0 in attempt 0).

    The n-th instance on the path (``visits``) moves one address further after every ``count``
    attempts, after every ``count``² attempts, and so on up to the n-th power. If all counts are
    equal, every combination is tried exactly once; otherwise, every combination is tried soon.
    """
    rounds = turn = attempt
    if count < 2 or not attempt:
        return turn
    for _ in range(visits):
        rounds //= count
        turn += rounds
    return turn
