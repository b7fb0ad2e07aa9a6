"""A member that comes back looks whether a part of its topics was assigned to nobody."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams.kafka import Cluster, Returning
from streams.wire import Topics


def test_a_group_that_is_rebalancing_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its leader may not know the topic yet: what it assigns is seen only when it has."""
    now = [0.0]
    answers: Iterator[bool | None] = iter([None, None, True])
    monkeypatch.setattr(Returning, "_is_idle", lambda *_: next(answers))
    member = Returning(Cluster("nowhere:1", Topics()), "g", "one", clock=lambda: now[0])
    found = []
    for _ in range(6):
        found.append(member.finds_idle(["t"]))
        now[0] += 0.3
    assert found == [False, False, False, False, True, False], "and never again"
