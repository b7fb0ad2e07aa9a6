"""Timers, groups that are moved and joined, small fragments: what a scenario's steps may say."""

from __future__ import annotations

import pytest

from streams.errors import InputError
from streams.protocol import DIALOG_TIMER, ERROR
from tests.node.evidence import shows
from tests.simulator.build import run, simulation

BEGIN = "{dialog: %s, from: ServerA/DatabaseA/InitiatorService, to: TargetService}"
GROUP = "00000000-0000-0000-0000-00000000000a"
QUEUES = ("ServerA/DatabaseA/InitiatorQueue", "ServerB/DatabaseB/TargetQueue")


def steps(*lines: str) -> str:
    """Return a scenario in which one dialog is begun and two messages are sent."""
    given = (
        f"at: 0s, begin: {BEGIN % 'd'}",
        "at: 0s, send: {dialog: d, body: 0123456789, count: 2}",
    )
    listed = "\n".join(f"      - {{{line}}}" for line in (*given, *lines))
    return f"    until: 60s\n    limits: {{fragment: 4}}\n    steps:\n{listed}\n"


@pytest.mark.parametrize(("side", "queue"), [("initiator", QUEUES[0]), ("target", QUEUES[1])])
def test_a_timer_rings_in_the_queue_of_its_side(side: str, queue: str) -> None:
    text = steps(f"at: 5s, timer: {{dialog: d, side: {side}, timeout: 10s}}")
    rung = [row for row in run("two_brokers", text).queues[queue] if row["type"] == DIALOG_TIMER]
    assert len(rung) == 1
    assert 15 <= rung[0]["at"] < 15.1


def groups(text: str) -> dict[str, str]:
    """Return the group of every initiator endpoint, by its conversation."""
    rows = run("two_brokers", text).endpoints
    return {
        row["conversation_id"]: row["conversation_group_id"] for row in rows if row["is_initiator"]
    }


def test_a_conversation_is_moved() -> None:
    (before,) = groups(steps()).values()
    (after,) = groups(steps(f"at: 1s, move: {{dialog: d, group: {GROUP}}}")).values()
    assert before != after == GROUP


def test_a_dialog_joins_the_group_of_a_related_one() -> None:
    related = (BEGIN % "e").replace("dialog: e", "dialog: e, related: d")
    assert len(set(groups(steps(f"at: 1s, begin: {related}")).values())) == 1
    assert len(set(groups(steps(f"at: 1s, begin: {BEGIN % 'e'}")).values())) == 2


def test_a_message_travels_in_fragments_of_the_stated_size() -> None:
    standing = simulation("two_brokers", steps())
    assert standing.run().summary["delivered"] == 2
    frames = [entry for entry in standing.instances["ServerA"].topics.out if entry.message]
    assert len(frames) == 6


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("at: 1s, move: {dialog: d}", "'group' is missing"),
        ("at: 1s, timer: {dialog: d}", "'timeout' is missing"),
        ("at: 1s, timer: {dialog: x, timeout: 1s}", "dialog 'x' has not begun"),
        ("at: 1s, begin: {related: x, " + BEGIN[1:] % "e", "dialog 'x' has not begun"),
    ],
)
def test_an_invalid_step_is_reported(line: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        simulation("two_brokers", steps(line))


@shows("Q1", "Q3")
@pytest.mark.parametrize(
    ("count", "dialogs", "times"),
    [("", "ddde", [20, 20, 20, 20]), (", count: 2", "dded", [20, 20, 30, 30])],
)
def test_receive_takes_one_group_after_the_other_and_errors_first(
    count: str, dialogs: str, times: list[int]
) -> None:
    """A later step begins with the oldest message that is left, which is in the other group."""
    text = f"""
        until: 60s
        steps:
          - {{at: 0s, begin: {BEGIN % "d"}}}
          - {{at: 0s, begin: {BEGIN % "e"}}}
          - {{at: 1s, send: {{dialog: d, body: one}}}}
          - {{at: 2s, send: {{dialog: e, body: two}}}}
          - {{at: 3s, send: {{dialog: d, body: three}}}}
          - {{at: 9s, end: {{dialog: d, error: {{code: 1, text: no}}}}}}
          - {{at: 20s, receive: {{queue: {QUEUES[1]}{count}}}}}
          - {{at: 30s, receive: {{queue: {QUEUES[1]}}}}}
    """
    started = simulation("two_brokers", text)
    result = started.run()
    names = {str(ids[0]): name for name, ids in started.dialogs.items()}
    assert "".join(names[r["conversation"]] for r in result.received) == dialogs
    assert [r["type"] for r in result.received] == [ERROR, "DEFAULT", "DEFAULT", "DEFAULT"]
    assert [r["at"] for r in result.received] == times


def test_receive_from_a_queue_that_is_off_is_refused() -> None:
    off = "sql: {at: ServerB/DatabaseB, text: ALTER QUEUE TargetQueue WITH STATUS = OFF}"
    text = steps(f"at: 5s, {off}", f"at: 9s, receive: {{queue: {QUEUES[1]}}}")
    result = run("two_brokers", text)
    assert result.received == ()
    assert "9 s: ServerB/DatabaseB/TargetQueue: RECEIVE refused: the queue is disabled (9617)" in (
        result.notes
    )
