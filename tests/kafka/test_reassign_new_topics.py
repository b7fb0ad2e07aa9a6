"""A member that comes back looks whether a part of its topics was assigned to nobody."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from streams.kafka import Cluster, Returning
from streams.wire import Topics


def looks(
    monkeypatch: pytest.MonkeyPatch, answers: Iterable[bool | None], step: float, count: int
) -> list[bool]:
    """Let a member look every ``step`` seconds; returns when it asks for a rebalance."""
    now, said = [0.0], iter(answers)
    monkeypatch.setattr(Returning, "_is_idle", lambda *_: next(said))
    member = Returning(Cluster("nowhere:1", Topics()), "g", "one", clock=lambda: now[0])
    asks = []
    for _ in range(count):
        asks.append(member.finds_idle(["t"]))
        now[0] += step
    return asks


@pytest.mark.long
def test_a_group_that_is_rebalancing_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its leader may not know the topic yet: what it assigns is seen only when it has."""
    asks = looks(monkeypatch, [None, None, True, False], 0.3, 30)
    assert asks == [False] * 4 + [True] + [False] * 25, "and never again"


def test_a_partition_that_stays_idle_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leader has assigned by metadata that did not have the topic yet."""
    assert looks(monkeypatch, [True, True, False], 5.0, 9) == [True, True] + [False] * 7


def test_a_partition_that_nobody_may_read_costs_few_rebalances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asks = looks(monkeypatch, iter(lambda: True, None), 5.0, 60)
    assert [n for n, asked in enumerate(asks) if asked] == [0, 1, 3, 6, 10]
