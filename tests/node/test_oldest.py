"""The order of dialogs that wait for room, against a plain dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.node.endpoint.dialogs import Kept
from streams.node.endpoint.oldest import STALE, Oldest
from tests.node.harness import keys_of

KEYS = st.integers(0, 7)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers(-1, 20)),
        st.tuples(st.just("drop"), KEYS, st.just(0)),
        st.tuples(st.just("first"), KEYS, st.integers(0, 9)),
    ),
    max_size=300,
)


@given(STEPS)
def test_the_lowest_position_comes_first(steps: list[tuple[str, int, int]]) -> None:
    oldest, model, keys = Oldest[Kept](), dict[Kept, int](), keys_of(8)
    for what, index, number in steps:
        key = keys[index]
        if what == "put":
            oldest.put(key, number)
            model[key] = number
        elif what == "drop":
            oldest.drop(key)
            model.pop(key, None)
        else:
            found = list(oldest.first(number))
            expected = sorted(model.items(), key=lambda item: (item[1], item[0]))[:number]
            assert found == [key for key, _ in expected]
        assert len(oldest) == len(model)
        assert (key in oldest) is (key in model)


def test_outdated_entries_do_not_pile_up() -> None:
    oldest, [key] = Oldest[Kept](), keys_of(1)
    for position in range(10_000):
        oldest.put(key, position)
    assert len(oldest._heap) == 1, "raised when it is reached"
    for position in range(10_000, 0, -1):
        oldest.put(key, position)
    assert len(oldest._heap) <= 64 + STALE
    assert list(oldest.first(1)) == [key]


def test_a_key_has_one_place() -> None:
    """A dialog leaves the flow to any broker id when its target's broker id is known."""
    one, other, (key, second) = Oldest[Kept](), Oldest[Kept](), keys_of(2)
    one.put(key, 1)
    one.put(second, 2)
    other.put(key, 0)
    assert (len(one), len(other)) == (1, 1)
    assert list(one.first(9)) == [second], "its outdated entry belongs to no one"
    one.drop(key)
    assert list(other.first(9)) == [key], "it was not dropped from another place"
