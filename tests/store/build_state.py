"""Rows of a cluster's state to write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from streams.store import (
    BufferedSample,
    DialogGone,
    DialogSide,
    HeartbeatSample,
    LagSample,
    LinkSample,
    QueueSample,
    Row,
    Trouble,
)

DIALOG = DialogSide(
    instance="ServerA",
    database="DatabaseA",
    conversation="00000000-0000-0000-0000-000000000001",
    is_initiator=True,
    service="InitiatorService",
    far_service="TargetService",
    contract="DEFAULT",
    state="CO",
    begun_at=10_000,
    expires_at=100_000_000,
    far_broker="DatabaseB",
    locked_at=10_250,
    error_at=None,
    ended_at=None,
    gone_at=None,
    progress_at=12_000,
    sent=5,
    acknowledged=3,
    received=2,
    depth=2,
    parked=0,
    waiting_since=11_500,
    attempt=1,
    status=0,
    status_at=0,
    seen_at=12_500,
    position=40,
)
GONE = DialogGone("ServerA", "DatabaseA", DIALOG.conversation, True, 20_000, 50)
TROUBLE = Trouble(
    "ServerA", "DatabaseA", DIALOG.conversation, True, 124, 8489, None, 13_000, 13_000
)
QUEUE = QueueSample("ServerA", 10_000, 20_000, 7, 2, 0, 9_000, ((0, 4), (9753, 3)))
LAG = LagSample("ServerA", "endpoint", "cmd", 10_000, 20_000, 12)
HEARTBEAT = HeartbeatSample("ServerB", 10_000, 20_000, True, 19_900)
HELD = BufferedSample("GatewayA", 10_000, 20_000, 3, 1_200)
LINK = LinkSample("ServerA", "ServerB", 10_000, 20_000)
STATE_ROWS: tuple[Row, ...] = (DIALOG, TROUBLE, QUEUE, LAG, HEARTBEAT, HELD, LINK)


def dialog(number: int, **changes: Any) -> DialogSide:
    """Return the initiator's side of dialog ``number``, with changes."""
    conversation = f"00000000-0000-0000-0000-{number:012d}"
    return replace(DIALOG, conversation=conversation, **changes)
