"""Next hops in another cluster: silence by a clock that goes only while the reader is awake."""

from __future__ import annotations

from streams.node import SILENCE, FarPresence


def awake(at: float, *others: str) -> FarPresence:
    """Return a reader whose own presence has just advanced, and that has seen others."""
    presence = FarPresence()
    presence.beat(at)
    for name in others:
        presence.seen(name, "r", 1)
    return presence


def live(presence: FarPresence, since: float, seconds: int) -> float:
    """Let the reader's own presence advance once a second; returns when it did last."""
    for second in range(1, seconds + 1):
        presence.beat(since + second)
    return since + seconds


def test_silence_of_five_seconds() -> None:
    """Unreachable after five seconds in which one's own presence advanced and the other's not."""
    presence = awake(100.0, "You")
    at = live(presence, 100.0, 4)
    assert presence.reachable("You", at)
    at = live(presence, at, 1)
    assert not presence.reachable("You", at)
    presence.seen("You", "r", 1)
    assert not presence.reachable("You", at), "an old count says nothing"
    presence.seen("You", "r", 2)
    assert presence.reachable("You", at)


def test_a_cluster_that_never_answers_is_silent_too() -> None:
    """Nobody was ever seen there: five seconds from when the reader began."""
    presence = awake(100.0)
    assert presence.reachable("You", live(presence, 100.0, 4))
    assert not presence.reachable("You", live(presence, 104.0, 1))


def test_nobody_is_judged_while_ones_own_presence_stands_still() -> None:
    """Cut off at home, a reader condemns nobody abroad, and condemns again when it is back."""
    presence = awake(100.0, "You")
    at = live(presence, 100.0, 6)
    assert not presence.reachable("You", at)
    assert presence.reachable("You", at + SILENCE)


def test_a_pause_does_not_condemn_everybody() -> None:
    """Whoever slept reads first what was written meanwhile: everybody has five seconds more."""
    presence = awake(100.0, "You")
    presence.beat(200.0)
    assert presence.reachable("You", 200.0)
    assert presence.reachable("You", live(presence, 200.0, 4))
    assert not presence.reachable("You", live(presence, 204.0, 1))


def test_a_short_pause_counts_little() -> None:
    """Less than five seconds: the clock goes two seconds further, as at home."""
    presence = awake(100.0, "You")
    presence.beat(104.9)
    assert presence.reachable("You", live(presence, 104.9, 2))


def test_who_gives_a_sign_every_ten_seconds_is_unreachable_after_fifty() -> None:
    presence = FarPresence()
    presence.beat(100.0, 10.0)
    presence.seen("You", "r", 1, 10.0)
    for at in (110.0, 120.0, 130.0, 140.0):
        presence.beat(at, 10.0)
        assert presence.reachable("You", at)
    presence.beat(150.0, 10.0)
    assert not presence.reachable("You", 150.0)
