"""Two machines and a channel that loses, repeats and reorders: exactly once, in order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.protocol import CHUNK, Limits, State
from tests.node.evidence import shows

from .pair import END, Pair

thoroughly = settings(max_examples=150)

who = st.integers(0, 1)
frames = st.integers(0, 1_000)
talk = st.one_of(
    st.tuples(st.just("send"), who),
    st.tuples(st.sampled_from(["deliver", "repeat", "lose"]), frames),
    st.tuples(st.just("wait"), st.sampled_from([100, 4_000, 20_000])),
)
endings = st.tuples(st.just("end"), who)
limits = st.builds(
    Limits, window=st.sampled_from([1, 2, 5, 64]), fragment=st.sampled_from([4, 9, 65_536])
)


def act(pair: Pair, what: str, value: int) -> None:
    """Do one of the things that can happen."""
    if what == "send":
        pair.send(value)
    elif what == "end":
        pair.end(value)
    elif what == "wait":
        pair.wait(value)
    elif pair.channel and what == "lose":
        pair.lose(value % len(pair.channel))
    elif pair.channel:
        pair.deliver(value % len(pair.channel), keep=what == "repeat")


@shows("D1.1", "D1.2", "D1.3")
@thoroughly
@given(limits, st.lists(talk, max_size=60))
def test_exactly_once_in_order(limits: Limits, story: list[tuple[str, int]]) -> None:
    """Whatever the channel does: once it heals, each queue holds what the other side said."""
    pair = Pair(limits)
    pair.send(0)
    for what, value in story:
        act(pair, what, value)
    pair.heal()
    pair.end(1)
    pair.heal()
    pair.end(0)
    pair.heal()
    near, far = pair.parties
    assert far.queue == near.said[:-1]  # the target has ended first: nothing more is sent
    assert near.queue == far.said
    assert near.said[-1:] == far.said[-1:] == [END]
    assert near.closed
    assert far.closed


def both_ended(limits: Limits, story: list[tuple[str, int]]) -> Pair:
    """Return a pair after a story, over a link that works again, when both sides have ended."""
    pair = Pair(limits)
    pair.send(0)
    for what, value in story:
        act(pair, what, value)
    pair.heal()
    for side in (1, 0, 1):
        pair.end(side)
        pair.heal()
    return pair


@thoroughly
@given(limits, st.lists(st.one_of(talk, endings), max_size=60))
def test_ending_at_any_time(limits: Limits, story: list[tuple[str, int]]) -> None:
    """A side that ends early receives no more; what it got is what was said, without gaps."""
    near, far = both_ended(limits, story).parties
    assert far.queue == near.said[: len(far.queue)]
    assert near.queue == far.said[: len(near.queue)]
    assert near.closed
    assert far.closed


@thoroughly
@given(limits, st.lists(st.one_of(talk, endings), max_size=60))
def test_nothing_is_kept_for_ever(limits: Limits, story: list[tuple[str, int]]) -> None:
    """Once both are closed no position in ``cmd`` or ``in`` is held any more, and no retry due."""
    for party in both_ended(limits, story).parties:
        assert party.side.dialog.state is State.CD
        assert not party.side.dialog.chunks
        assert not party.side.dialog.held
        assert party.side.dialog.retry_at is None
        assert party.side.dialog.forget_at is not None


def test_a_long_conversation() -> None:
    """Several chunks of positions, every third frame lost, every fifth repeated."""
    pair = Pair(Limits(window=16))
    for _ in range(3 * CHUNK):
        pair.send(0)
    step = 0
    while pair.channel or pair.parties[0].side.dialog.retry_at is not None:
        step += 1
        assert step < 20_000
        if not pair.channel:
            pair.wait(1_000)
        elif step % 3 == 0:
            pair.lose(step % len(pair.channel))
        else:
            pair.deliver(step * 7 % len(pair.channel), keep=step % 5 == 0)
    assert pair.parties[1].queue == pair.parties[0].said
