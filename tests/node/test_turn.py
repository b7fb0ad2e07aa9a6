"""Every combination of addresses that several instances can choose has its turn."""

from __future__ import annotations

import itertools

import pytest

from streams.node.forwarder.turn import turn_at_gateway, turn_at_origin

from .evidence import shows

COUNTS = list(itertools.product(range(1, 7), repeat=2))


@pytest.mark.parametrize(("near", "far"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 2), (3, 3), (4, 3)])
def test_all_combinations_of_two_on_the_way_have_their_turn(near: int, far: int) -> None:
    """The first to be tried at either is every pair of addresses, soon: none is left out."""
    ways = {
        (turn_at_gateway(attempt, near, 0) % near, turn_at_gateway(attempt, far, 1) % far)
        for attempt in range(2 * near * far)
    }
    assert len(ways) == near * far


def test_the_first_retry_takes_the_next_address_wherever_it_is() -> None:
    assert turn_at_gateway(1, 2, 5) == 1
    assert turn_at_origin(1, 2, returning=True) == 1


@shows("U-19", "D2.5")
@pytest.mark.parametrize(("there", "back"), COUNTS)
def test_all_combinations_of_the_way_there_and_back_have_their_turn(there: int, back: int) -> None:
    """What a copy provokes has its attempt, and must not come back by one address for ever."""
    ways = {
        (
            turn_at_origin(attempt, there, returning=False) % there,
            turn_at_origin(attempt, back, returning=True) % back,
        )
        for attempt in range(4 * there * back)
    }
    assert len(ways) == there * back


def test_all_combinations_with_a_gateway_between_have_their_turn() -> None:
    """Three that choose between two each: eight ways in eight attempts."""
    ways = {
        (
            turn_at_origin(attempt, 2, returning=False) % 2,
            turn_at_gateway(attempt, 2, 1) % 2,
            turn_at_origin(attempt, 2, returning=True) % 2,
        )
        for attempt in range(8)
    }
    assert len(ways) == 8
