"""Between two transactions: long enough for Kafka's markers, and never longer than needed."""

from __future__ import annotations

import pytest

from streams.workers.pause import SETTLING, Pause


@pytest.mark.parametrize(
    ("passed", "slept"), [(0.0, [SETTLING]), (0.001, [SETTLING - 0.001]), (SETTLING, []), (9.0, [])]
)
def test_what_has_passed_already_is_not_waited_for(passed: float, slept: list[float]) -> None:
    now, waits = [100.0], list[float]()
    pause = Pause(lambda: now[0], waits.append)
    pause.begin()
    now[0] += passed
    pause.end()
    assert waits == pytest.approx(slept)


def test_the_first_transaction_waits_for_nothing() -> None:
    waits: list[float] = []
    Pause(lambda: 0.0, waits.append).end()
    assert not waits
