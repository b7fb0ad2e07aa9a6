"""The states of an endpoint, and the only table of their transitions (reference 4.7).

::

            BEGIN            SEND            END                acknowledged
    (none) -------> SO --------------> CO --------> DO ----------------------> CD
    first message arrives, complete    ^ |  peer's EndDialog        END
    (none) --------------------------> | +----------------> DI -------------> CD
    first message arrives, incomplete  |     any Error, end of life      END
    (none) -------> SI ----------------+ ------------------> ER ------------> CD

Inputs that are not in the table are rejected: statements with their error number, frames with an
event.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from streams.errors.numbers import Number


class State(Enum):
    """``sys.conversation_endpoints.state``."""

    __hash__ = object.__hash__  # members are singletons; this is much faster than Enum's hash

    SO = "STARTED_OUTBOUND"
    SI = "STARTED_INBOUND"
    CO = "CONVERSING"
    DI = "DISCONNECTED_INBOUND"
    DO = "DISCONNECTED_OUTBOUND"
    ER = "ERROR"
    CD = "CLOSED"


class Input(Enum):
    """The inputs of an endpoint."""

    __hash__ = object.__hash__

    SEND = "SEND"
    END = "END CONVERSATION"
    END_WITH_ERROR = "END CONVERSATION WITH ERROR"
    CLEANUP = "END CONVERSATION WITH CLEANUP"
    TIMER = "BEGIN CONVERSATION TIMER"
    MOVE = "MOVE CONVERSATION"
    FIRST_MESSAGE = "the first message is complete"
    PEER_ENDED = "EndDialog received in order"
    PEER_ERROR = "Error received"
    LAST_ACKNOWLEDGED = "the peer has acknowledged our EndDialog or Error"
    EXPIRED = "the lifetime has expired"
    REFUSED = "a message from the peer violates the contract or fails its validation"
    BROKER_ERROR = "the database was set to end its conversations with an error"


_S, _I = State, Input

TRANSITIONS: dict[tuple[State, Input], State] = {
    (_S.SO, _I.SEND): _S.CO,  # U-28
    (_S.CO, _I.SEND): _S.CO,
    # An EndDialog or Error cannot be the first message (11277), so the endpoint is only removed
    # (U-22).
    (_S.SO, _I.END): _S.CD,
    (_S.SO, _I.END_WITH_ERROR): _S.CD,
    (_S.CO, _I.END): _S.DO,
    (_S.CO, _I.END_WITH_ERROR): _S.DO,
    # The peer has ended the dialog, so nothing is sent.
    (_S.DI, _I.END): _S.CD,
    (_S.DI, _I.END_WITH_ERROR): _S.CD,
    (_S.ER, _I.END): _S.CD,
    (_S.ER, _I.END_WITH_ERROR): _S.CD,
    **{(state, _I.CLEANUP): _S.CD for state in State if state is not _S.CD},
    (_S.SI, _I.FIRST_MESSAGE): _S.CO,
    (_S.CO, _I.PEER_ENDED): _S.DI,
    (_S.DO, _I.PEER_ENDED): _S.DO,
    (_S.SO, _I.PEER_ERROR): _S.ER,
    (_S.SI, _I.PEER_ERROR): _S.ER,
    (_S.CO, _I.PEER_ERROR): _S.ER,
    (_S.DI, _I.PEER_ERROR): _S.ER,
    (_S.DO, _I.PEER_ERROR): _S.CD,  # no notification: the application has ended the dialog
    (_S.DO, _I.LAST_ACKNOWLEDGED): _S.CD,
    **{(state, _I.EXPIRED): _S.ER for state in (_S.SO, _S.SI, _S.CO, _S.DI)},
    (_S.DO, _I.EXPIRED): _S.CD,
    (_S.CO, _I.REFUSED): _S.ER,
    **{(state, _I.BROKER_ERROR): _S.ER for state in (_S.SO, _S.SI, _S.CO, _S.DI)},
    (_S.DO, _I.BROKER_ERROR): _S.CD,
    # These inputs do not change the state. The application cannot issue them after it has ended the
    # dialog.
    **{(state, _I.TIMER): state for state in (_S.SO, _S.SI, _S.CO, _S.DI)},
    **{(state, _I.MOVE): state for state in (_S.SO, _S.SI, _S.CO, _S.DI, _S.ER)},
}

REFUSALS: dict[Input, Number] = {
    Input.SEND: Number.SEND_STATE,
    Input.END: Number.END_STATE,
    Input.END_WITH_ERROR: Number.END_STATE,
    Input.CLEANUP: Number.END_STATE,
    Input.TIMER: Number.TIMER_STATE,
    Input.MOVE: Number.MOVE_STATE,
}
"""The error number of a statement that the endpoint's state does not allow."""


class HasState(Protocol):
    """The attributes of an endpoint that the table needs."""

    state: State


def move_state(endpoint: HasState, happened: Input) -> bool:
    """Change an endpoint's state by the table; return whether it has a row for the input."""
    state = TRANSITIONS.get((endpoint.state, happened))
    if state is None:
        return False
    endpoint.state = state
    return True
