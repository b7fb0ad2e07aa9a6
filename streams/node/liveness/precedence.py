"""Order the workers that share instances, differently at each instance.

Each instance has a consumer group. If it has only one partition, the range assignor assigns that
partition to the group's first member by name. If the order were the same everywhere, the first
worker would get every instance. So the members of a slot have a different name at each instance, by
a rule that all processes follow without communication. A process needs only the slot's number (1
for ``b``, ``hopline-1`` or ``1``) and the instances of the catalog in order.

Slots are added one by one: at each instance in turn, the new slot is ordered before a slot that
would otherwise have one more partition. So for every n, slots 0 to n - 1 share all partitions
evenly, and the partitions of a missing slot are distributed among all others. Other slots keep
their partitions when a slot returns.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

_NUMBER = re.compile(r"(?:^|.*\D)(\d{1,3})$")
_LETTER = re.compile(r"(?:^|.*[^a-z])([a-z])$")
_MOST = 60
"""Maximum number of ordered slots; additional slots would have the same keys."""
_ALL = 1 << 64


def number_of_slot(slot: str) -> int | None:
    """Return the number at the end of a slot's name; letters count from ``a``, which is 0."""
    number, letter = _NUMBER.match(slot), _LETTER.match(slot.lower())
    if number is not None:
        return int(number[1])
    return None if letter is None else ord(letter[1]) - ord("a")


def member_name(slot: str, home: str, partitions: Mapping[str, int]) -> str:
    """Return the member name of a slot in the group of one of these homes.

    ``partitions`` maps every instance in the catalog to its number of partitions. A slot without a
    number has a random rank at each home; at a pair, every slot has a random rank.
    """
    number = number_of_slot(slot)
    if number is None or number >= _MOST or home not in partitions:
        key = hashlib.sha256(f"{home}\0{slot}".encode()).hexdigest()[:16]
    else:
        key = _keys(tuple(sorted(partitions.items())), number)[home]
    return f"{key}.{slot}"


@lru_cache(16)
def _keys(partitions: tuple[tuple[str, int], ...], slot: int) -> dict[str, str]:
    """Map each home to the prefix of a slot's member name there.

    Keys of earlier slots do not depend on later slots, because a new slot gets a key between those
    of its neighbours.
    """
    orders = [[(_ALL // 2, 0)] for _ in partitions]
    keys = [_ALL // 2] * len(partitions)
    for newcomer in range(1, slot + 1):
        extras: Counter[int] = Counter()  # number of partitions above an even share
        seconds: Counter[tuple[int, int]] = Counter()  # by the first and the second slot
        for at, (_, count) in enumerate(partitions):
            order = orders[at]
            many = count % (newcomer + 1) or 1
            goes_before = extras[newcomer] < extras[order[many - 1][1]]
            if goes_before:
                place = extras[newcomer] % many
            else:
                follows = many < len(order)
                behind = order[many][1] if follows else newcomer
                first = order[0][1]
                place = many
                if follows and seconds[first, newcomer] >= seconds[first, behind]:
                    place = len(order)
            keys[at] = _between(order, place)
            order.insert(place, (keys[at], newcomer))
            extras.update(number for _, number in order[:many])
            seconds[order[0][1], order[1][1]] += 1
    return {home: f"{key:016x}" for (home, _), key in zip(partitions, keys, strict=True)}


def _between(order: list[tuple[int, int]], place: int) -> int:
    before = order[place - 1][0] if place else 0
    behind = order[place][0] if place < len(order) else _ALL
    return (before + behind) // 2
