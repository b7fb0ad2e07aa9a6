"""Causes of leaked conversation endpoints, in a table like the one for stuck messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streams.analysis.diagnose.case import placed
from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.topology.snapshot import ConversationEndpoint, DialogState
from streams.topology.validate import LIFETIME_MAX

HOUR, DAY = 3600.0, 86400.0
LONG, IDLE = HOUR, 7 * DAY
"""Age in seconds above which an endpoint is suspicious.

:data:`IDLE` is for endpoints that are conversing, because a dialog may be in use for days.
"""
MANY = 100
"""Number of similar endpoints at which they are suspicious regardless of their age."""
_OLDEST = 30 * 365 * DAY


@dataclass(frozen=True, slots=True)
class Side:
    """An endpoint with the facts about it in the snapshot.

    ``far``: the database of the other side, if it is in the snapshot; ``peer``: the endpoint of the
    other side. ``pending``: messages of this endpoint in the transmission queue.
    """

    endpoint: ConversationEndpoint
    at: str
    taken_at: float | None
    far: str | None = None
    peer: ConversationEndpoint | None = None
    pending: int = 0

    @property
    def age(self) -> float | None:
        """Return the age in seconds; ``None`` unless it follows from the default lifetime."""
        if self.endpoint.expires is None or self.taken_at is None:
            return None
        age = self.taken_at - (self.endpoint.expires - LIFETIME_MAX)
        return age if 0 <= age <= _OLDEST else None

    def older(self, seconds: float) -> bool:
        """Return whether the endpoint is known to be older than this."""
        return self.age is not None and self.age > seconds


def _leak(
    code: str, title: str, rule: str, remedy: str, evidence: Callable[[Side], Evidence | None]
) -> Cause[Side]:
    return Cause(code, Stage.LEAK, title, (), rule, remedy, evidence)


def _in_state(state: DialogState, text: str) -> Callable[[Side], Evidence | None]:
    return lambda side: (text,) if side.endpoint.state is state else None


def _expired(side: Side) -> Evidence | None:
    expires, taken = side.endpoint.expires, side.taken_at
    over = expires is not None and taken is not None and expires < taken
    if not over or side.endpoint.state is DialogState.CLOSED:
        return None
    return ("their lifetime has expired, and neither application has ended them",)


def _error(side: Side) -> Evidence | None:
    if side.endpoint.state is not DialogState.ERROR:
        return None
    error = "state ER: an Error message waits in the queue"
    waits = f"{side.pending} of the first dialog's messages wait in the transmission queue"
    return (error, waits) if side.pending else (error,)


def _unpurged(side: Side) -> Evidence | None:
    secured = side.endpoint.secured
    due = secured is not None and side.taken_at is not None and side.taken_at - secured > LONG
    if side.endpoint.state is not DialogState.CLOSED or not due:
        return None
    closed = "state CD: closed, kept for half an hour against replays, but still not removed"
    unset = "security_timestamp was never set, because the initiator ended the dialog too early"
    return (closed, unset) if secured is not None and secured < 0 else (closed,)


def _gone(side: Side) -> Evidence | None:
    if side.endpoint.state is not DialogState.CONVERSING or side.far is None or side.peer:
        return None
    return (f"{side.far} no longer has an endpoint of these dialogs",)


def _peer_closed(side: Side) -> Evidence | None:
    closed = side.peer is not None and side.peer.state is DialogState.CLOSED
    if side.endpoint.state is not DialogState.CONVERSING or not closed or side.peer is None:
        return None
    return (placed(f"{side.far} has closed its side", side.peer.source),)


def _unacknowledged(side: Side) -> Evidence | None:
    e = side.endpoint
    new = e.state is DialogState.CONVERSING and e.initiator and e.far_broker is None
    if not new or e.receive_sequence or not (e.send_sequence or side.pending):
        return None
    return ("the other side's broker id is unknown, because nothing was ever acknowledged",)


def _idle(side: Side) -> Evidence | None:
    e = side.endpoint
    if e.state is not DialogState.CONVERSING or side.pending or not side.older(IDLE):
        return None
    return ("state CO: nothing to send, begun more than a week ago, and not ended",)


CAUSES: tuple[Cause[Side], ...] = (
    _leak(
        "endpoints-expired", "Dialogs with an expired lifetime",
        "reference 4.8 (8489)",
        "The engine never ends a dialog on its own, so RECEIVE the Error message (-8489) and END "
        "CONVERSATION on both sides.",
        _expired,
    ),
    _leak(
        "endpoints-in-error", "Dialogs in error that were not ended",
        "reference 4.7, 4.8",
        "Make the receiving procedure handle http://schemas.microsoft.com/SQL/ServiceBroker/Error "
        "with END CONVERSATION; end the existing ones in the same way.",
        _error,
    ),
    _leak(
        "not-ended-here", "Dialogs ended only by the other side",
        "reference 4.7",
        "Make the receiving procedure handle http://schemas.microsoft.com/SQL/ServiceBroker/"
        "EndDialog with END CONVERSATION; end the existing ones in the same way.",
        _in_state(
            DialogState.DISCONNECTED_INBOUND,
            "state DI: the other side has ended, but this one has not",
        ),
    ),
    _leak(
        "end-not-acknowledged", "Ended dialogs without an acknowledgement of the end",
        "reference 4.5, 4.7",
        "Find out why their EndDialog is stuck in the transmission queue. If the other side is "
        "gone for good, END CONVERSATION ... WITH CLEANUP.",
        _in_state(
            DialogState.DISCONNECTED_OUTBOUND,
            "state DO: this side has ended, but the other has not acknowledged it",
        ),
    ),
    # Source: R. Rusanu, "How to prevent conversation endpoint leaks".
    _leak(
        "closed-not-purged", "Closed endpoints that were not removed",
        "reference 4.7",
        "END CONVERSATION directly after SEND leaves such endpoints at the target until the "
        "lifetime is over. Let the target end the dialog first, and the initiator when it "
        "receives EndDialog, or BEGIN DIALOG with a LIFETIME. Remove existing endpoints with END "
        "CONVERSATION ... WITH CLEANUP, in batches, but never in the application's own code.",
        _unpurged,
    ),
    _leak(
        "never-used", "Dialogs without any message",
        "reference 4.7",
        "BEGIN DIALOG only if a SEND follows in the same transaction; END CONVERSATION for "
        "existing ones.",
        _in_state(
            DialogState.STARTED_OUTBOUND, "state SO: begun, but no message was sent"
        ),
    ),
    _leak(
        "first-message-incomplete", "Dialogs with an incomplete first message",
        "reference 4.4, 4.7",
        "Check the sender's transmission queue: the rest of the message is stuck there, or the "
        "sender was cleaned up. In the latter case, END CONVERSATION ... WITH CLEANUP.",
        _in_state(
            DialogState.STARTED_INBOUND, "state SI: the first message is incomplete"
        ),
    ),
    _leak(
        "other-side-gone", "Dialogs without the endpoint of the other side",
        "reference 4.7, 4.8",
        "The other endpoint was ended WITH CLEANUP, or its database was restored or got a "
        "NEW_BROKER. No answer will arrive: END CONVERSATION ... WITH CLEANUP here.",
        _gone,
    ),
    _leak(
        "other-side-closed", "Dialogs closed only by the other side",
        "reference 4.7",
        "The EndDialog did not arrive: check the other side's transmission queue. Run "
        "END CONVERSATION here.",
        _peer_closed,
    ),
    _leak(
        "never-acknowledged", "Dialogs without any acknowledgement",
        "reference 2.1, 4.5",
        "Their first message did not arrive, or its acknowledgement has no return route. See "
        "their messages in the transmission queue.",
        _unacknowledged,
    ),
    _leak(
        "never-ended", "Many idle dialogs",
        "reference 4.7, 4.8",
        "The fire-and-forget pattern leaves one endpoint per message on both sides. The target "
        "should END CONVERSATION, and the initiator should do so when it receives the EndDialog. "
        "Or reuse dialogs.",
        _idle,
    ),
)  # fmt: skip
