"""The order of dialogs that wait for room, against a plain dictionary."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from streams.node.endpoint.oldest import STALE, Oldest

KEYS = st.sampled_from("abcdefgh")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.integers(-1, 20)),
        st.tuples(st.just("drop"), KEYS, st.just(0)),
        st.tuples(st.just("first"), KEYS, st.integers(0, 9)),
    ),
    max_size=300,
)


@given(STEPS)
def test_the_lowest_position_comes_first(steps: list[tuple[str, str, int]]) -> None:
    oldest, model = Oldest[str](), dict[str, int]()
    for what, key, number in steps:
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
    oldest = Oldest[str]()
    for position in range(10_000):
        oldest.put("a", position)
    assert len(oldest._heap) == 1, "raised when it is reached"
    for position in range(10_000, 0, -1):
        oldest.put("a", position)
    assert len(oldest._heap) <= 64 + STALE
    assert list(oldest.first(1)) == ["a"]
