"""Which next hops are reachable, and what is held for those that are not."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streams.node import SILENCE, Holding, Presence, period_of
from streams.node.liveness.slot_owners import MANY, MOST_NAMES
from streams.protocol import LONGEST_PERIOD

from .evidence import shows


def awake(at: float, *others: str) -> Presence:
    """Return a reader that has seen itself and others at ``at``, and the end of the topic."""
    presence = Presence("Me", at)
    for name in ("Me", *others):
        presence.seen(name, "r", 1, at)
    presence.end_read(at)
    return presence


def beat(presence: Presence, name: str, count: int, at: float) -> None:
    """See a heartbeat, and the end of the topic after it."""
    presence.seen(name, "r", count, at)
    presence.end_read(at)


# --- the predicate -------------------------------------------------------------------------------


@shows("F14")
def test_silence_of_five_seconds() -> None:
    """Unreachable: the presence has not changed for 5 s by the reader's own clock."""
    presence = awake(100.0, "You")
    for at in (101.0, 102.0, 103.0, 104.0, 100.0 + SILENCE - 0.01):
        beat(presence, "Me", int(at * 100), at)
        assert presence.reachable("You", at)
    beat(presence, "Me", 1_000_000, 100.0 + SILENCE)
    assert not presence.reachable("You", 100.0 + SILENCE)


def test_a_sign_of_life_that_repeats_itself_is_none() -> None:
    """An old count says nothing; a new one, or another replica's, does."""
    presence = awake(100.0, "You")
    for at in (101.0, 102.0, 103.0, 104.0, 105.0):
        presence.seen("You", "r", 1, at)
        beat(presence, "Me", int(at), at)
    assert not presence.reachable("You", 105.5)
    presence.seen("You", "other", 1, 105.6)
    assert presence.reachable("You", 105.7)


@shows("F14")
def test_nobody_is_judged_while_ones_own_presence_stands_still() -> None:
    """A reader whose own heartbeat does not come back is cut off itself."""
    presence = awake(100.0, "You")
    assert presence.reachable("You", 110.0)
    assert not presence.may_judge(110.0)


@shows("F14")
def test_a_pause_does_not_condemn_everybody() -> None:
    """After a pause one's own heartbeat is read first; the others' stand behind it."""
    presence = awake(100.0, "You", "They")
    assert presence.reachable("You", 160.0)  # awake again, nothing read yet
    presence.seen("Me", "r", 2, 160.0)
    assert presence.reachable("You", 160.0)  # the topic has not been read to its end
    presence.seen("You", "r", 60, 160.1)
    presence.end_read(160.1)
    assert presence.reachable("You", 160.2)
    assert presence.reachable("They", 160.2)
    for at in (161.0, 162.0, 163.0):  # awake: their silence counts from here on
        beat(presence, "Me", int(at), at)
    assert presence.reachable("You", 163.0)
    assert not presence.reachable("They", 163.0)


def test_a_pause_of_almost_five_seconds_condemns_nobody() -> None:
    """Neither before anything was read again, nor when the first that is read is one's own."""
    presence = awake(100.0, "You")
    beat(presence, "Me", 2, 100.9)
    assert presence.reachable("You", 105.8)
    presence.seen("Me", "r", 3, 105.8)  # written before the pause; what You wrote is behind it
    assert presence.reachable("You", 105.8)


def test_who_gives_a_sign_every_ten_seconds_is_unreachable_after_fifty() -> None:
    """Every limit is a multiple of the period that a heartbeat announces, one's own included."""
    presence = Presence("Me", 100.0)
    for name, period in (("Me", 10.0), ("You", 10.0), ("They", 1.0)):
        presence.seen(name, "r", 1, 100.0, period)
    presence.end_read(100.0)
    for number, at in enumerate((110.0, 120.0, 130.0, 140.0), 2):
        presence.seen("Me", "r", number, at, 10.0)
        presence.end_read(at)
        assert presence.may_judge(at + 9.9)
        assert presence.reachable("You", at)
        assert not presence.reachable("They", at)
    presence.seen("Me", "r", 9, 150.0, 10.0)
    assert not presence.reachable("You", 150.0)


def test_all_names_together_write_no_more_than_two_hundred_heartbeats_a_second() -> None:
    assert [period_of(names) for names in (0, 1, 200, 201, 1_000)] == [1.0, 1.0, 1.0, 2.0, 5.0]
    assert period_of(10**9) == LONGEST_PERIOD


Reader = tuple[float, float, float]
"""Seconds asleep, then awake; and how long its own heartbeats are on their way."""


@dataclass
class Topic:
    """A reader of ``presence`` and what it does in a life of pauses; You write once a second."""

    died: float
    now: float = 0.0
    read_to: float = -1.0
    records: list[tuple[float, str, int]] = field(default_factory=list)
    presence: Presence = field(default_factory=lambda: Presence("Me", 0.0))

    def __post_init__(self) -> None:
        for second in range(2_000):
            self.records.append((second + 0.3, "You", second))
            if second < self.died:
                self.records.append((second + 0.6, "They", second))

    def live(self, asleep: float, awake: float, delay: float) -> None:
        """Sleep, then be awake; You are reachable all the time, whatever was before."""
        self.now += asleep
        until = self.now + awake
        next_beat = self.now
        while self.now < until:
            if self.now >= next_beat:
                self.records.append((self.now + delay, "Me", int(self.now * 1_000)))
                next_beat = self.now + 1
            assert self.presence.reachable("You", self.now)  # asked before anything is read
            for at, name, count in sorted(self.records):
                if self.read_to < at <= self.now:
                    self.presence.seen(name, "r", count, self.now)
                    assert self.presence.reachable("You", self.now)
            self.read_to = self.now
            self.presence.end_read(self.now)
            self.now += 0.25


lives = st.lists(
    st.tuples(st.floats(0, 30), st.floats(0.25, 12), st.floats(0, 2)), min_size=1, max_size=6
)


@settings(max_examples=100)
@given(lives, st.floats(0, 60))
@example([(0, 3, 0.2), (4.9, 3, 0.2)], 60)
def test_a_reader_that_sleeps_at_times_judges_only_the_silent(
    life: list[Reader], died: float
) -> None:
    """Who sends heartbeats is always reachable; who does not, is not, once it has been awake."""
    topic = Topic(died)
    for asleep, awake, delay in life:
        topic.live(asleep, awake, delay)
    topic.now = max(topic.now, died)
    topic.live(0, 12, 0.1)
    assert not topic.presence.reachable("They", topic.now)


@shows("F14")
def test_judging_goes_on_between_two_reads_of_the_end() -> None:
    """Whoever is awake stays so: neither its own next heartbeat nor another's return is a pause.

    Otherwise a dead next hop would be reachable again for a moment, once a second.
    """
    presence = awake(100.0, "You", "They")
    for at in (101.0, 102.0, 103.0, 104.0, 105.0, 106.0):
        presence.seen("Me", "r", int(at), at)
    assert presence.may_judge(106.0)
    assert not presence.reachable("You", 106.0)
    presence.seen("They", "r", 2, 106.5)
    assert presence.may_judge(106.5)
    assert not presence.reachable("You", 106.5)


def test_an_instance_that_was_never_seen() -> None:
    """It has the same five seconds, from when the reader began."""
    presence = awake(100.0)
    for at in (101.0, 102.0, 103.0, 104.0):
        beat(presence, "Me", int(at), at)
        assert presence.reachable("New", at + 0.9)
    beat(presence, "Me", 105, 105.0)
    assert not presence.reachable("New", 105.0)


def test_oneself_is_always_reachable() -> None:
    """A forwarder may write to its own topics whatever it sees."""
    presence = awake(100.0)
    assert presence.reachable("Me", 1_000.0)


def test_a_reader_without_a_forwarder_judges_nobody() -> None:
    """Who sends no heartbeat of its own cannot tell whether it is cut off."""
    presence = Presence("", 100.0)
    presence.end_read(100.0)
    assert presence.reachable("You", 1_000.0)


# --- held copies ---------------------------------------------------------------------------------


@shows("F5", "EX-47")
def test_memory_for_held_copies_is_bounded() -> None:
    """51 copies of 20 480 bytes fit into 1 MiB, the rest is dropped (11289), nothing is evicted."""
    holding: Holding[int] = Holding(1 << 20)
    refused = [holding.add((n,), n, 20_480) for n in range(100)]
    assert refused == [None] * 51 + [11289] * 49
    assert [item for _, item in holding.items()] == list(range(51))


@shows("F12.2")
def test_a_second_copy_of_what_is_held_is_dropped() -> None:
    """The same message is already being forwarded: 11288, even when memory is short too."""
    holding: Holding[int] = Holding(100)
    assert holding.add(("m",), 1, 100) is None
    assert holding.add(("m",), 2, 100) == 11288
    assert holding.add(("n",), 3, 1) == 11289
    assert len(holding) == 1


def test_what_is_released_gives_its_memory_back() -> None:
    """A large message can pass in fragments, each of which is gone before the next one."""
    holding: Holding[int] = Holding(100)
    for n in range(50):
        assert holding.add((n,), n, 100) is None
        holding.remove((n,))
    assert (len(holding), holding.size) == (0, 0)


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 60), st.booleans()), max_size=40))
def test_the_size_is_always_that_of_what_is_held(steps: list[tuple[int, int, bool]]) -> None:
    """Whatever comes and goes, in any order."""
    holding: Holding[int] = Holding(150)
    sizes: dict[int, int] = {}
    for key, size, leaves in steps:
        if leaves and key in sizes:
            holding.remove((key,))
            del sizes[key]
        elif holding.add((key,), key, size) is None:
            sizes[key] = size
        assert holding.size == sum(sizes.values()) <= 150
        assert {item for _, item in holding.items()} == set(sizes)


def test_names_that_anybody_writes_are_forgotten_when_they_are_silent() -> None:
    """Whoever lives stays reachable, and memory is bounded."""
    presence = Presence("me", 0.0)
    for n in range(20 * MANY):
        at = n / 100
        presence.seen(f"nobody{n}", "x", 1, at)
        if n % 100 == 0:
            presence.seen("me", "me", n + 1, at)
            presence.seen("lives", "other", n + 1, at)
            presence.end_read(at)
    assert len(presence._changed) <= 3 * MANY
    assert len(presence._count) == len(presence._changed)
    assert presence.reachable("lives", at)
    assert not presence.reachable("nobody1", at)
    assert "lives" in presence._changed and "nobody1" not in presence._changed


@pytest.mark.parametrize("own", ["me", ""])
def test_names_that_all_live_are_limited_and_the_needed_ones_stay(own: str) -> None:
    """A heartbeat may announce the next one for in a minute; without own ones no time passes."""
    needed = {f"needed{n}" for n in range(100)}
    presence = Presence(own, 0.0, needed.__contains__)
    for name in (*sorted(needed), "me"):
        presence.seen(name, "r", 1, 1.0, 60.0)
    for n in range(3 * MOST_NAMES):
        presence.seen(f"nobody{n}", "x", 1, 1.0, 60.0)
        assert len(presence._changed) <= MOST_NAMES
    assert len(presence._count) == len(presence._periods) == len(presence._changed)
    assert needed < presence._changed.keys()
    assert ("me" in presence._changed) is (own == "me")
    assert f"nobody{n}" in presence._changed, "the newest ones"


def test_any_number_of_needed_names_is_kept() -> None:
    presence = Presence("me", 0.0, lambda _: True)
    for n in range(2 * MOST_NAMES):
        presence.seen(f"needed{n}", "x", 1, 1.0, 60.0)
    assert len(presence._changed) == 2 * MOST_NAMES
