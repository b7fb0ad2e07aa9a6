"""Rows to write."""

from __future__ import annotations

from dataclasses import astuple, replace

from streams.store import (
    Cause,
    CopiedMessage,
    EventWindow,
    FoundMessage,
    Gap,
    LatencyStretch,
    LatencyWindow,
    MalformedWindow,
    MissingMessage,
    Repeat,
    Row,
)

LATENCY = LatencyWindow(
    window_start=10_000,
    window_end=20_000,
    from_service="InitiatorService",
    to_service="TargetService",
    target="ServerB/DatabaseB",
    path="ServerA>ServerB/DatabaseB",
    leg=0,
    leg_from="ServerA",
    leg_to="ServerB/DatabaseB",
    hops=1,
    count=3,
    attempts=1,
    min=5,
    max=30,
    p50=5.0,
    p95=27.5,
    p99=29.5,
    histogram=((5.0, 2), (30.0, 1)),
)
EVENT = EventWindow(
    10_000, 20_000, 160, 11218, "ServerB", "DatabaseB", None, "TargetService", None, Cause.RETRY, 4
)
MALFORMED = MalformedWindow(10_000, 20_000, "ssb.queue.x", "sb-hop: missing", 2)
REPEAT = Repeat("ssb.queue.x", "m-1", 0, None, 7, 2, 11_000, 12_000)
DIALOG_ID = "00000000-0000-0000-0000-000000000001"
MISSING = MissingMessage(
    conversation=DIALOG_ID,
    from_initiator=True,
    message_id="m-3",
    sequence=3,
    from_service="InitiatorService",
    to_service="TargetService",
    sender="ServerA",
    enqueued_at=11_000,
    expires_at=100_000_000,
    seen_at=12_000,
    error=0,
    error_at=None,
    error_by=None,
)
FOUND = FoundMessage(DIALOG_ID, "m-3", "ServerB/DatabaseB", 700_000)
COPIED = CopiedMessage(
    conversation=DIALOG_ID,
    from_initiator=True,
    message_id="m-4",
    sequence=4,
    from_service=None,
    to_service="TargetService",
    places="ServerB/DatabaseB",
    copies=4,
    delivered=1,
    retries=2,
    redeliveries=1,
    several_routes=0,
    several_targets=0,
    replays=0,
    unknown=0,
    first_at=11_000,
    last_at=12_000,
)
GAP = Gap("ssb.queue.x", DIALOG_ID, True, 0, 20_000, 0, 6, 5, 2, 11_000, 12_000)
STRETCH = LatencyStretch(*astuple(LATENCY))
ROWS: tuple[Row, ...] = (LATENCY, STRETCH, EVENT, MALFORMED, REPEAT, MISSING, FOUND, COPIED, GAP)


def latency(values: list[int], **changes: object) -> LatencyWindow:
    """Return a window that counts the given latencies; its percentiles are of no interest."""
    histogram = tuple((float(value), values.count(value)) for value in sorted(set(values)))
    row = replace(LATENCY, count=len(values), min=min(values), max=max(values))
    return replace(row, histogram=histogram, **changes)  # type: ignore[arg-type]
