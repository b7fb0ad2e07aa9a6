"""Slots that share instances evenly, by names that each process finds for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from streams.node import member_name
from streams.node.liveness.precedence import number_of_slot


def assigned(slots: Sequence[str], partitions: Mapping[str, int]) -> Counter[str]:
    """Return how many partitions each slot gets where the range assignor deals them."""
    found = Counter(dict.fromkeys(slots, 0))
    for home, count in partitions.items():
        members = sorted(slots, key=lambda slot: member_name(slot, home, partitions))
        for place, slot in enumerate(members):
            found[slot] += count // len(members) + (place < count % len(members))
    return found


def spread(slots: Sequence[str], partitions: Mapping[str, int]) -> int:
    """Return how many partitions more one slot has than another one."""
    found = assigned(slots, partitions).values()
    return max(found) - min(found)


def estate(instances: int, partitions: int = 1) -> dict[str, int]:
    """Return so many instances with so many partitions each."""
    return {f"Server{number:03}": partitions for number in range(instances)}


def test_six_instances_on_three_slots_and_on_any_two_of_them() -> None:
    assert assigned("abc", estate(6)) == {"a": 2, "b": 2, "c": 2}
    for away in "abc":
        assert set(assigned("abc".replace(away, ""), estate(6)).values()) == {3}


@pytest.mark.parametrize("slots", ["ab", "abc", "abcd"])
def test_up_to_four_slots_differ_by_one_instance_at_most(slots: str) -> None:
    for instances in range(1, 61):
        assert spread(slots, estate(instances)) <= 1
        for away in slots:
            assert spread(slots.replace(away, "") or slots, estate(instances)) <= 2


@pytest.mark.parametrize("slots", ["abcde", "abcdefgh"])
@pytest.mark.parametrize("instances", [10, 50, 60])
def test_up_to_eight_slots_differ_by_two_instances_at_most(slots: str, instances: int) -> None:
    assert spread(slots, estate(instances)) <= 2


@pytest.mark.parametrize("partitions", [2, 3, 4])
def test_several_partitions_are_shared_evenly_too(partitions: int) -> None:
    for instances in range(1, 61):
        assert spread("abc", estate(instances, partitions)) <= 1
        assert spread("abcd", estate(instances, partitions)) <= 2


@pytest.mark.parametrize(
    ("slot", "number"),
    [("0", 0), ("7", 7), ("a", 0), ("B", 1), ("hopline-12", 12), ("rack-c", 2), ("rack", None)],
)
def test_a_slot_is_numbered_by_the_end_of_its_name(slot: str, number: int | None) -> None:
    assert number_of_slot(slot) == number


def test_a_later_slot_changes_no_name_of_an_earlier_one() -> None:
    """So nothing but a slot's own name and the catalog decides which name its member has."""
    names = [member_name("c", home, estate(6)) for home in estate(6)]
    assert len({name.partition(".")[0] for name in names}) > 1
    assert [member_name("c", home, estate(6)) for home in estate(6)] == names
    assert all(name.endswith(".c") for name in names)


def test_a_slot_without_a_number_has_a_place_of_its_own_everywhere() -> None:
    found = assigned(("blue", "green"), estate(200))
    assert set(found) == {"blue", "green"} and min(found.values()) > 50
