"""Delete old rows.

Windows of latency are deleted by whole stretches of the roll-up: a long period reads stretches, so
it would not find the windows that are left of a deleted stretch.
"""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from streams.store.kinds import KINDS
from streams.store.message_rows import CopiedMessage, FoundMessage, Gap, MissingMessage
from streams.store.message_tables import ACKNOWLEDGED
from streams.store.rows import EventWindow, LatencyStretch, LatencyWindow, MalformedWindow, Repeat
from streams.store.state_rows import DialogSide, Trouble
from streams.store.state_tables import SAMPLES
from streams.store.tables import LATE, STRETCH

_DATED: Mapping[type, str] = {
    LatencyWindow: "window_start",
    LatencyStretch: "window_start",
    EventWindow: "window_start",
    MalformedWindow: "window_start",
    Repeat: "last_at",
    MissingMessage: "seen_at",
    FoundMessage: "delivered_at",
    CopiedMessage: "last_at",
    Gap: "last_at",
    DialogSide: "gone_at",  # null while the side exists
    Trouble: "last_at",
    **dict.fromkeys(SAMPLES, "until"),
}
"""The column that holds the time of a row, by table."""
_WHOLE = (LatencyWindow, LatencyStretch)
_OTHERS = (ACKNOWLEDGED.c.at, LATE.c.until)


def prunings(before: int) -> tuple[sa.Delete, ...]:
    """Return the statements that delete rows whose time is before an instant (epoch ms)."""
    stretches = before // STRETCH * STRETCH
    dated = [
        (KINDS[kind].table.c[column], stretches if kind in _WHOLE else before)
        for kind, column in _DATED.items()
    ]
    others = [(column, before) for column in _OTHERS]
    return tuple(sa.delete(c.table).where(c < at) for c, at in (*dated, *others))
