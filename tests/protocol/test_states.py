"""The table that moves an endpoint, over all pairs of state and input."""

from __future__ import annotations

import uuid

import pytest

from streams.errors import Number
from streams.protocol import REFUSALS, TRANSITIONS, Flag, Input, State
from tests.node.evidence import shows

from .build import INITIATOR_BROKER, Side, acked, initiator, message, queued, target, undeliverable

OTHER_GROUP = uuid.UUID(int=77)
INPUTS = (
    Input.SEND, Input.END, Input.END_WITH_ERROR, Input.CLEANUP, Input.FIRST_MESSAGE,
    Input.PEER_ENDED, Input.PEER_ERROR, Input.LAST_ACKNOWLEDGED, Input.EXPIRED, Input.REFUSED,
    Input.BROKER_ERROR, Input.TIMER, Input.MOVE,
)  # fmt: skip
TABLE = """
         SEND  END  ERR  CLN  FIRST  ENDED  ERROR  ACKED  EXPIRED  REFUSED  BROKER  TIMER  MOVE
    SO   CO    CD   CD   CD   -      -      ER     -      ER       -        ER      SO     SO
    SI   -     -    -    CD   CO     -      ER     -      ER       -        ER      SI     SI
    CO   CO    DO   DO   CD   -      DI     ER     -      ER       ER       ER      CO     CO
    DI   -     CD   CD   CD   -      -      ER     -      ER       -        ER      DI     DI
    DO   -     -    -    CD   -      DO     CD     CD     CD       -        CD      -      -
    ER   -     CD   CD   CD   -      -      -      -      -        -        -       -      ER
    CD   -     -    -    -    -      -      -      -      -        -        -       -      -
"""
"""The transitions of the documentation, written down a second time; ``-``: refused."""


def rows() -> list[tuple[State, Input, State | None]]:
    lines = [line.split() for line in TABLE.strip().splitlines()[1:]]
    return [
        (State[line[0]], happened, None if cell == "-" else State[cell])
        for line in lines
        for happened, cell in zip(INPUTS, line[1:], strict=True)
    ]


STATEMENTS = {
    Input.SEND: lambda side: side.sends(),
    Input.END: lambda side: side.ends(),
    Input.END_WITH_ERROR: lambda side: side.ends(with_error=True),
    Input.CLEANUP: lambda side: side.cleans_up(),
    Input.TIMER: lambda side: side.sets_timer(1),
    Input.MOVE: lambda side: side.moves(OTHER_GROUP),
}


@pytest.mark.parametrize(("state", "happened", "then"), rows())
def test_every_pair_of_state_and_input(state: State, happened: Input, then: State | None) -> None:
    """A pair leads where the documentation says, or is refused because it is in no row."""
    assert TRANSITIONS.get((state, happened)) is then


def test_the_table_is_complete() -> None:
    """Every state and every input is in the transcription, and nothing else is in the table."""
    assert {(state, happened) for state, happened, _ in rows()} >= set(TRANSITIONS)
    assert len(rows()) == len(State) * len(Input)


@shows("D4.1")
@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_statement_in_every_state(state: State, statement: Input) -> None:
    """A statement moves the endpoint by the table, or has an error number and changes nothing."""
    side = initiator(state)
    before = side.dialog.copy()
    STATEMENTS[statement](side)
    then = TRANSITIONS.get((state, statement))
    if then is None:
        assert side.refused is REFUSALS[statement]
        assert side.dialog == before
    else:
        assert side.refused is None
        assert side.dialog.state is then


def test_error_numbers_of_refused_statements() -> None:
    """SEND in a wrong state is 8429, END 8427, BEGIN CONVERSATION TIMER 8458, MOVE 8438."""
    assert REFUSALS[Input.SEND] is Number.SEND_STATE
    assert REFUSALS[Input.SEND] == 8429
    assert {REFUSALS[i] for i in STATEMENTS} == {8429, 8427, 8458, 8438}
    assert (REFUSALS[Input.TIMER], REFUSALS[Input.MOVE]) == (8458, 8438)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize(
    "flags", [Flag.NONE, Flag.END, Flag.ERROR | Flag.SKIPS, Flag.ERROR | Flag.UNSEQUENCED]
)
def test_every_frame_in_every_state(state: State, flags: Flag) -> None:
    """No frame of the peer breaks an endpoint, whatever its state; none moves a closed one."""
    side = target(state)
    effects = side.receives(message(0, flags=flags, broker=INITIATOR_BROKER))
    assert side.dialog.state in State
    assert len(queued(effects)) <= 1
    if state is State.CD:
        assert side.dialog.state is State.CD
        assert not queued(effects)


@shows("U-28")
def test_the_first_send_makes_it_converse() -> None:
    """STARTED_OUTBOUND until the commit of the first SEND, then CONVERSING."""
    side = initiator()
    assert side.dialog.state is State.SO
    side.sends()
    assert side.dialog.state is State.CO


@shows("D4.2")
def test_a_target_that_is_incomplete_has_nothing_to_receive() -> None:
    """STARTED_INBOUND until the first message is complete, then CONVERSING."""
    side = target(State.SI)
    assert queued(side.receives(message(1))) == []
    assert side.dialog.state is State.SI
    assert queued(side.receives(message(0))) == [0, 1]
    assert side.dialog.state is State.CO


@shows("U-39")
def test_an_endpoint_in_error_acknowledges_nothing_new() -> None:
    """In ERROR a message is undeliverable and not acknowledged: nobody will receive it."""
    side: Side = target(State.ER)
    effects = side.receives(message(0))
    assert acked(effects) is None
    assert len(undeliverable(effects)) == 1
