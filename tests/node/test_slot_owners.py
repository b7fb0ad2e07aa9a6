"""Who works in a slot: the dead are not waited for, and the living are left in peace."""

from __future__ import annotations

import pytest

from streams.node import FRESH, LEFT, SlotOwners, SlotState
from streams.node.liveness.slot_owners import MANY, MOST_NAMES

SLOT = "A/endpoint/0"
NOW = 1_000_000


def known(age: int, *, replica: str = "other", count: int = 7, came: bool = False) -> SlotOwners:
    """Return what a reader knows of a slot whose last heartbeat is so many milliseconds old.

    Kafka's clock is known by somebody else's.
    """
    owners = SlotOwners("own")
    owners.seen("B", "b", 1, NOW)
    if came:
        owners.end_read()
    owners.seen(SLOT, replica, count, NOW - age)
    owners.end_read()
    return owners


def test_a_slot_of_which_nobody_has_heard_is_free() -> None:
    assert SlotOwners("own").state(SLOT) is SlotState.FREE
    assert known(0).state("A/endpoint/1") is SlotState.FREE


@pytest.mark.parametrize("came", [False, True])
def test_who_is_silent_for_three_seconds_is_not_there(came: bool) -> None:
    assert known(FRESH, came=came).state(SLOT) is SlotState.FREE
    assert known(FRESH - 1, came=came).state(SLOT) is not SlotState.FREE


def test_a_sign_that_was_there_before_may_be_a_dead_ones_last() -> None:
    owners = known(FRESH - 1)
    assert owners.state(SLOT) is SlotState.OPEN
    owners.seen("B", "b", 2, NOW + 1)
    assert owners.state(SLOT) is SlotState.FREE


def test_a_sign_that_comes_while_one_looks_is_from_who_lives() -> None:
    owners = known(900)
    owners.seen(SLOT, "other", 8, NOW)
    assert owners.state(SLOT) is SlotState.TAKEN


def test_ones_own_signs_keep_nobody_out() -> None:
    assert known(0, replica="own", came=True).state(SLOT) is SlotState.FREE


def test_who_has_said_that_it_leaves_is_not_waited_for() -> None:
    owners = known(0)
    owners.seen(SLOT, "other", LEFT, NOW)
    assert owners.state(SLOT) is SlotState.FREE


PATIENCE = FRESH // 2
"""Milliseconds in which a running owner sends another heartbeat."""


@pytest.mark.parametrize("period", [1, 5])
def test_who_has_said_that_it_leaves_has_left_when_it_is_silent(period: int) -> None:
    owners = SlotOwners("own")
    owners.seen(SLOT, "other", 7, NOW, period)
    owners.seen(SLOT, "other", LEFT, NOW + 900, 1)  # its period says nothing of the owner's
    owners.seen("B", "b", 1, NOW + period * PATIENCE - 1)
    assert not owners.has_left(SLOT)
    owners.seen("B", "b", 2, NOW + period * PATIENCE)
    assert owners.has_left(SLOT)
    owners.seen(SLOT, "next", 1, NOW + period * PATIENCE)
    assert not owners.has_left(SLOT)


def test_a_farewell_that_was_all_there_was_counts_after_silence_too() -> None:
    owners = known(0, count=LEFT)
    assert not owners.has_left(SLOT)
    owners.seen("B", "b", 2, NOW + PATIENCE)
    assert owners.has_left(SLOT)


@pytest.mark.parametrize("replica", ["other", "forged"])
def test_no_number_of_forged_farewells_hides_an_owner_that_runs(replica: str) -> None:
    """A heartbeat a second refutes them, and they say nothing of when the next is due."""
    owners = known(0)
    for at in range(NOW, NOW + 20_000, 100):
        is_beat = at % 1_000 == 0
        owners.seen(SLOT, "other" if is_beat else replica, at if is_beat else LEFT, at)
        assert not owners.has_left(SLOT)
    owners.seen("B", "b", 2, NOW + 19_000 + PATIENCE - 1)
    assert not owners.has_left(SLOT)
    owners.seen("B", "b", 3, NOW + 19_000 + PATIENCE)
    assert owners.has_left(SLOT), "they do not delay a proper end, either"


def beside(age: int, **other: object) -> SlotOwners:
    """Return what is known where one's own sign was stamped so long after somebody else's."""
    owners = known(age, **other)  # type: ignore[arg-type]
    owners.seen(SLOT, "own", 5, NOW)
    return owners


def test_a_rival_is_who_gives_signs_beside_ones_own() -> None:
    assert not SlotOwners("own").has_rival(SLOT)
    assert not known(0).has_rival(SLOT), "of oneself nothing was heard"
    assert beside(FRESH - 1).has_rival(SLOT)
    assert not beside(FRESH).has_rival(SLOT), "that was a predecessor"
    assert not beside(0, count=LEFT).has_rival(SLOT)


def test_of_ones_own_signs_the_last_that_came_back_is_known() -> None:
    assert SlotOwners("own").last_heartbeat(SLOT) == known(0).last_heartbeat(SLOT) == 0
    assert beside(0).last_heartbeat(SLOT) == 5


def test_the_slot_of_who_gives_a_sign_every_ten_seconds_is_its_own_for_thirty() -> None:
    owners = SlotOwners("own")
    owners.seen(SLOT, "other", 7, NOW, 10.0)
    assert owners.patience([SLOT, "A/endpoint/1"]) == 10 * FRESH / 1000
    for age, free in ((10 * FRESH - 1, False), (10 * FRESH, True)):
        owners.seen("B", "b", age, NOW + age)
        assert (owners.state(SLOT) is SlotState.FREE) is free


def test_the_living_are_counted_without_who_has_left_or_is_silent() -> None:
    owners = known(FRESH)
    owners.seen("C", "c", LEFT, NOW)
    owners.seen("D", "d", 3, NOW - FRESH + 1)
    assert owners.living == 2, "B and D"


def test_names_that_anybody_writes_are_forgotten_when_they_are_silent() -> None:
    """One's own slot and whoever lives are not."""
    owners = SlotOwners("me")
    owners.seen("mine", "me", 1, 0)
    for n in range(20 * MANY):
        owners.seen(f"nobody{n}", "x", 1, n)
        if n % 1_000 == 0:
            owners.seen("lives", "other", n + 1, n)
    assert len(owners._last) <= 2 * FRESH + 2 + MANY
    assert owners.state("lives") is not SlotState.FREE
    assert owners.last_heartbeat("mine") == 1
    assert owners.state("nobody1") is SlotState.FREE


@pytest.mark.parametrize("replica", ["x", "me"])
def test_names_that_all_live_are_limited_and_the_needed_ones_stay(replica: str) -> None:
    """Any client may write heartbeats of a minute, and under the reader's replica."""
    needed = {f"needed{n}" for n in range(100)}
    owners = SlotOwners("me", needed.__contains__)
    for name in sorted(needed):
        owners.seen(name, "me", 1, NOW, 60.0)
    for n in range(3 * MOST_NAMES):
        owners.seen(f"nobody{n}", replica, 1, NOW + n % 2, 60.0)
        assert max(map(len, (owners._mine, owners._other, owners._last))) <= MOST_NAMES
    assert all(owners.last_heartbeat(name) == 1 for name in needed)
    assert owners.state("needed0") is SlotState.FREE
