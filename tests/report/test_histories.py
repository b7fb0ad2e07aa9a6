"""The ledger against histories whose truth is known: nothing is lost in them, until it is."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from streams.protocol import Limits
from streams.report import Fate, Ledger, balance
from tests.protocol.build import LIFETIME

from .histories import ENDS, History

thoroughly = settings(max_examples=300)

who = st.integers(0, 1)
frames = st.integers(0, 1_000)
steps = st.one_of(
    st.tuples(st.just("send"), who),
    st.tuples(st.just("send"), who),
    st.tuples(st.sampled_from(["deliver", "deliver", "repeat", "lose"]), frames),
    st.tuples(st.just("wait"), st.sampled_from([100, 4_000, 20_000])),
)
endings = st.tuples(st.sampled_from(["end", "fail", "clean_up"]), who)
expiry = st.tuples(st.just("wait"), st.just(1_000 * LIFETIME))
limits = st.builds(Limits, window=st.sampled_from([2, 5, 64]))
stories = st.lists(st.one_of(steps, steps, steps, endings, expiry), max_size=60)


def told(window: Limits, story: list[tuple[str, int]]) -> History:
    """Live through a story; it begins with a message of the initiator."""
    history = History(window)
    history.send(0)
    for what, value in story:
        if what in ("send", "end", "fail", "clean_up", "wait"):
            getattr(history, what)(value)
        elif history.channel and what == "lose":
            history.lose(value % len(history.channel))
        elif history.channel:
            history.deliver(value % len(history.channel), keep=what == "repeat")
    return history


def account(history: History, **hidden: int) -> Ledger:
    """Return the account of a history, without one of the delivered rows if so asked."""
    rows = history.delivered()
    if "hide" in hidden:
        del rows[hidden["hide"]]
    return balance(history.accepted(), rows, history.sides(), history.endings())


@thoroughly
@given(limits, stories)
def test_nothing_is_lost_at_any_moment_of_any_history(
    window: Limits, story: list[tuple[str, int]]
) -> None:
    """Whatever is said, lost under way, repeated, ended, outlived: every message has a place."""
    history = told(window, story)
    ledger = account(history)
    assert ledger.verdict == "nothing lost"
    assert ledger.accepted == len(history.accepted())
    assert ledger.delivered == len(history.delivered())
    assert ledger.outcomes[Fate.NEW_BROKER] == 0, "no broker id changes in these histories"
    if history.over():
        assert ledger.waiting == 0, "a closed endpoint has nothing in its transmission queue"


@thoroughly
@given(limits, stories)
def test_what_is_forgotten_has_its_reasons_still(
    window: Limits, story: list[tuple[str, int]]
) -> None:
    """Where a closed side is forgotten, its events and both queues say why it ended."""
    history = told(window, story)
    kept = [side for side in history.sides() if side.state != "CD"]
    ledger = balance(history.accepted(), history.delivered(), kept, history.endings())
    assert ledger.verdict == "nothing lost"


@thoroughly
@given(limits, stories, st.data())
def test_a_gap_is_found_in_every_history(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Without a row that is not its side's last, exactly that message is lost, whatever ended."""
    history = told(window, [("send", 0), ("deliver", 0), ("deliver", 0), *story])
    rows = history.delivered()
    inner = [n for n in range(len(rows) - 1) if rows[n].place == rows[n + 1].place]
    chosen = data.draw(st.sampled_from(inner))
    ledger = account(history, hide=chosen)
    assert [m.message_id for m in ledger.lost] == [rows[chosen].message_id]


@thoroughly
@given(limits, st.lists(steps, max_size=40), st.data())
def test_any_hidden_row_is_found_in_a_dialog_that_ended_well(
    window: Limits, story: list[tuple[str, int]], data: st.DataObject
) -> None:
    """The last message, too: both sides know that it was stored, and nobody ended too early."""
    history = told(window, story)
    history.heal()
    history.end(0)
    history.heal()
    assume(ENDS[1] not in history.errors and ENDS[0] not in history.errors)
    history.end(1)
    history.heal()
    rows = [n for n, row in enumerate(history.delivered()) if row.from_initiator]
    chosen = data.draw(st.sampled_from(rows))
    ledger = account(history, hide=chosen)
    assert (ledger.verdict, ledger.delivered) == ("1 lost", len(history.delivered()) - 1)
