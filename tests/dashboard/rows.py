"""A small store: two minutes of deliveries by two paths, some copies and drops."""

from __future__ import annotations

from streams.store import (
    BufferedSample,
    Cause,
    EventWindow,
    HeartbeatSample,
    LatencyWindow,
    LinkSample,
    QueueSample,
    Row,
    percentile,
)

SINCE = 1_795_267_800_000
"""2026-11-21T13:30:00Z."""
UNTIL = SINCE + 120_000
WINDOW = 10_000
AT = "from=2026-11-21T13:30:00Z&until=2026-11-21T13:32:00Z"
"""The same as in an address."""


def window(
    number: int, via: str, leg: int, places: tuple[str, str], histogram: dict[int, int]
) -> LatencyWindow:
    """Return a window of messages from ServerA by a gateway to ServerB."""
    pairs = tuple((float(ms), count) for ms, count in sorted(histogram.items()))
    start = SINCE + number * WINDOW
    return LatencyWindow(
        window_start=start,
        window_end=start + WINDOW,
        from_service="InitiatorService",
        to_service="TargetService",
        target="ServerB/DatabaseB",
        path=f"ServerA>{via}>ServerB/DatabaseB",
        leg=leg,
        leg_from=places[0],
        leg_to=places[1],
        hops=2,
        count=sum(histogram.values()),
        attempts=0,
        min=min(histogram),
        max=max(histogram),
        p50=percentile(pairs, 0.50),
        p95=percentile(pairs, 0.95),
        p99=percentile(pairs, 0.99),
        histogram=pairs,
    )


def _path(number: int, via: str, ms: int) -> list[LatencyWindow]:
    return [
        window(number, via, 0, ("ServerA", "ServerB/DatabaseB"), {ms: 90, 2 * ms: 10}),
        window(number, via, 1, ("", "ServerA"), {ms // 2: 100}),
        window(number, via, 2, ("ServerA", via), {ms // 4: 100}),
        window(number, via, 3, (via, "ServerB/DatabaseB"), {ms // 4: 90, ms: 10}),
    ]


def _event(
    number: int,
    event: int,
    error: int,
    instance: str,
    cause: Cause | None,
    route: str | None = None,
) -> EventWindow:
    start = SINCE + number * WINDOW
    return EventWindow(
        start, start + WINDOW, event, error, instance, None, None, "TargetService", route, cause, 7
    )


ROWS: tuple[Row, ...] = (
    *(row for number in range(12) for row in _path(number, "GatewayA", 12)),
    *(row for number in range(4, 12) for row in _path(number, "GatewayB", 40)),
    _event(3, 160, 11218, "ServerB", Cause.RETRY),
    _event(3, 160, 11218, "ServerB", Cause.REDELIVERY),
    _event(4, 160, 11224, "ServerC", Cause.SEVERAL_TARGETS),
    _event(5, 140, 11285, "GatewayA", None, "ToServerB"),
    _event(6, 139, 0, "GatewayA", None),
    QueueSample("ServerA", SINCE, SINCE + 60_000, 3, 2, 0, SINCE - 5_000, ((0, 3),)),
    QueueSample("ServerA", SINCE + 60_000, UNTIL, 1_234, 9, 0, SINCE + 5_000, ((9753, 1_234),)),
    *(HeartbeatSample(name, SINCE, UNTIL, True, UNTIL - 300) for name in ("ServerA", "GatewayA")),
    HeartbeatSample("GatewayB", SINCE, UNTIL, False, SINCE - 60_000),
    BufferedSample("ServerA", SINCE, UNTIL, 17, 4_200),
    LinkSample("ServerA", "GatewayC", SINCE, UNTIL),
)
