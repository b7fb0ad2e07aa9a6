"""What nearly always happens is done in one step, which changes nothing but the time it takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.protocol import CHUNK, Effect, Limits, State
from streams.protocol.receiving import Receiver
from streams.protocol.sending import Sender

from .build import Side, ack, conversing, message, status, target
from .pair import Pair
from .test_pair import act, endings, limits, talk

stories = st.lists(st.one_of(talk, endings), max_size=60)
SHORT_WAYS = ((Sender, "_transmit_next"), (Receiver, "follows"))


@settings(max_examples=150)
@given(limits, stories)
def test_without_the_short_ways_it_is_the_same(
    limits: Limits, story: list[tuple[str, int]]
) -> None:
    """After every step: dialogs, queues and what is on the way are those of the long way."""
    short, long = Pair(limits), Pair(limits)
    for what, value in [("send", 0), ("send", 0), *story]:
        act(short, what, value)
        with pytest.MonkeyPatch.context() as patch:
            for kind, name in SHORT_WAYS:
                patch.setattr(kind, name, lambda *_: False)
            act(long, what, value)
        assert short.channel == long.channel
        assert short.parties == long.parties


@pytest.mark.parametrize(
    ("side", "happens"),
    [
        (lambda: conversing(2), lambda side: side.receives(status(9753)) + side.sends()),
        (lambda: conversing(2), lambda side: side.receives(ack(2)) + side.sends(2)),
        (lambda: conversing(2), lambda side: side.waits(5) + side.sends()),
        (lambda: conversing(1, limits=Limits(window=2)), lambda side: side.sends(3)),
        (target, lambda side: side.receives(message(1), message(0), message(2))),
        (target, lambda side: side.receives(message(0), message(0))),
        (
            lambda: target(queue_on=False, limits=Limits(window=1)),
            lambda side: side.receives(message(0), message(1)),
        ),
        (lambda: target(State.SI), lambda side: side.receives(message(0))),
        (lambda: target(State.DO), lambda side: side.receives(message(0))),
    ],
)
def test_what_is_not_plain_takes_the_long_way(
    side: Callable[[], Side], happens: Callable[[Side], list[Effect]]
) -> None:
    short, long = side(), side()
    effects = happens(short)
    with pytest.MonkeyPatch.context() as patch:
        for kind, name in SHORT_WAYS:
            patch.setattr(kind, name, lambda *_: False)
        assert happens(long) == effects
    assert short == long


@pytest.mark.parametrize(("kind", "name"), SHORT_WAYS)
def test_a_plain_conversation_takes_the_short_ways(
    kind: type, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All messages but the first, which sets the timer; each that arrives in order."""
    plain, taken = getattr(kind, name), list[bool]()

    def watched(*arguments: object) -> bool:
        taken.append(plain(*arguments))
        return taken[-1]

    monkeypatch.setattr(kind, name, watched)
    pair = Pair(Limits())
    for _ in range(5):
        pair.send(0)
    while pair.channel:
        pair.deliver(0)
    assert taken == [kind is Receiver, True, True, True, True]


@settings(max_examples=100)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=2 * CHUNK), st.data())
def test_counting_fragments_is_walking_over_them(sizes: list[int], data: st.DataObject) -> None:
    dialog = conversing(0).dialog
    for position, fragments in enumerate(sizes):
        dialog.remember(position, fragments)
    places = [(n, f) for n, size in enumerate(sizes) for f in range(size)] + [(len(sizes), 0)]
    first, last = data.draw(st.tuples(*[st.integers(0, len(places) - 1)] * 2))
    assert dialog.count(places[first], places[last]) == max(0, last - first)
