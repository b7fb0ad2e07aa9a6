"""Calls that may never come back: who waits, and what is left behind."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from streams.kafka.patience import OneAtATime, StuckError, in_time
from tests.running import DEADLINE


def fails() -> None:
    """Raise something."""
    raise KeyError("no such thing")


def test_what_a_call_raises_is_raised() -> None:
    with pytest.raises(KeyError, match="no such thing"):
        in_time(fails, DEADLINE)


def test_one_thread_makes_all_calls_that_come_back() -> None:
    made: list[threading.Thread] = []
    for _ in range(3):
        in_time(lambda: made.append(threading.current_thread()), DEADLINE)
    assert len(set(made)) == 1
    assert made[0] is not threading.current_thread()


def test_a_stuck_call_is_left_behind_with_its_thread() -> None:
    made, comes_back = list[threading.Thread](), threading.Event()
    hanging = threading.Event()

    def hangs() -> None:
        made.append(threading.current_thread())
        hanging.set()
        comes_back.wait()

    with pytest.raises(StuckError, match=r"no answer within 0\.01 s"):
        in_time(hangs, 0.01)
    assert hanging.wait(DEADLINE)  # on a loaded machine it begins later than the wait ends
    in_time(lambda: made.append(threading.current_thread()), DEADLINE)
    comes_back.set()
    in_time(lambda: made.append(threading.current_thread()), DEADLINE)
    assert made[1] is made[2]
    assert made[0] is not made[1]


def test_a_call_that_comes_back_late_is_not_waited_for() -> None:
    comes_back = threading.Event()
    late = threading.Timer(DEADLINE, comes_back.set)
    late.start()
    try:
        with pytest.raises(StuckError):
            in_time(comes_back.wait, 0.5)
    finally:
        late.cancel()
        comes_back.set()


def test_a_call_that_came_back_keeps_nothing_alive() -> None:
    class Client:
        """Something that a call works with."""

    client = Client()
    gone = weakref.ref(client)
    in_time(lambda client=client: None, DEADLINE)  # type: ignore[misc]
    del client
    gc.collect()
    assert gone() is None


def test_of_calls_one_at_a_time_a_second_waits_for_nothing_and_is_not_made() -> None:
    calls, gate, made = OneAtATime(), threading.Event(), list[str]()

    def slow() -> None:
        made.append("slow")
        assert gate.wait(DEADLINE)

    assert calls.call(lambda: made.append("first"), DEADLINE)
    assert not calls.call(slow, 0.01) and calls.is_busy
    assert not calls.call(lambda: made.append("never"), DEADLINE)
    gate.set()
    while calls.is_busy:
        assert not calls.call(lambda: made.append("nor this"), DEADLINE), "it was the earlier one"
    assert calls.call(lambda: made.append("last"), DEADLINE)
    assert made == ["first", "slow", "last"]


def test_of_calls_one_at_a_time_each_raises_its_own_error() -> None:
    calls = OneAtATime()
    with pytest.raises(ZeroDivisionError):
        calls.call(lambda: 1 // 0, DEADLINE)
    assert calls.call(lambda: None, DEADLINE) and not calls.is_busy
