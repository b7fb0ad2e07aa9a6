"""Compare the choices that the dialog's id makes on different paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import gcd

from streams.analysis.paths.network import Pick
from streams.routing import broker_key

Picks = frozenset[Pick]
_Form = tuple[tuple[str, int], ...]
"""The kinds of all choices and their numbers of alternatives."""
_Pairs = tuple[tuple[int, int, int], ...]
"""The positions of two choices of the same kind, with a common divisor of their alternatives."""
_Brokers = dict[str, str]
"""Up to two broker ids by their comparable form."""


class PicksIndex:
    """Broker ids by the choices that lead to them.

    It finds the choices that one dialog can make together with others without comparing all pairs,
    because balanced routes may have thousands of choices. All choices of a kind depend on the same
    hash h, and h mod m agrees with h mod n if and only if they are equal modulo gcd(m, n).
    """

    def __init__(self, rows: Iterable[tuple[str, Picks]]) -> None:
        self._rows: dict[_Form, list[tuple[str, list[Pick]]]] = {}
        for broker, picks in rows:
            form, ordered = _ordered(picks)
            self._rows.setdefault(form, []).append((broker, ordered))
        self._indexes: dict[_Form, list[tuple[_Pairs, Mapping[object, _Brokers]]]] = {}

    def agreeing(self, picks: Picks) -> Iterator[_Brokers]:
        """Yield the first two different broker ids of each group of choices that agrees."""
        form, ordered = _ordered(picks)
        if form not in self._indexes:
            self._indexes[form] = [_index(form, other, rows) for other, rows in self._rows.items()]
        for pairs, index in self._indexes[form]:
            found = index.get(tuple(_part(ordered[n], common) for n, _, common in pairs))
            if found is not None:
                yield found


def _index(
    form: _Form, other: _Form, rows: Iterable[tuple[str, list[Pick]]]
) -> tuple[_Pairs, Mapping[object, _Brokers]]:
    pairs = tuple(
        (n, m, gcd(count, other_count))
        for n, (kind, count) in enumerate(form)
        for m, (other_kind, other_count) in enumerate(other)
        if kind == other_kind
    )
    index: dict[object, _Brokers] = {}
    for broker, picks in rows:
        found = index.setdefault(tuple(_part(picks[m], common) for _, m, common in pairs), {})
        if len(found) < 2:
            found.setdefault(broker_key(broker), broker)
    return pairs, index


def _ordered(picks: Picks) -> tuple[_Form, list[Pick]]:
    ordered = sorted(picks, key=lambda pick: (pick[0], pick[1], str(pick[2])))
    return tuple((kind, count) for kind, count, _ in ordered), ordered


def _part(pick: Pick, common: int) -> int | str:
    which = pick[2]
    return which % common if isinstance(which, int) else which
