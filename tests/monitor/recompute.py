"""The monitor's figures, computed again in plain Python from the values that were written."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from streams.protocol.frames import Flag
from streams.store import LatencyWindow
from tests.monitor.records import Delivery
from tests.store.test_quantiles import recomputed

SYSTEM = Flag.END | Flag.ERROR | Flag.UNSEQUENCED


def legs(delivery: Delivery) -> Iterable[tuple[int, str, str, int]]:
    """Yield (leg, from, to, milliseconds)."""
    names = [name for name, _ in delivery.visits]
    instants = [delivery.enqueued_at, *(at for _, at in delivery.visits)]
    yield 0, names[0], names[-1], instants[-1] - instants[0]
    for leg in range(1, len(instants)):
        start = names[leg - 2] if leg > 1 else ""
        yield leg, start, names[leg - 1], instants[leg] - instants[leg - 1]


def path_of(delivery: Delivery) -> list[str]:
    """Return the visits without the instance that the target names again."""
    names = [name for name, _ in delivery.visits]
    if len(names) > 1 and names[-1].startswith(names[-2] + "/"):
        del names[-2]
    return names


def windows(deliveries: Iterable[Delivery], length: int) -> tuple[LatencyWindow, ...]:
    """Return all latency windows, ordered by what identifies them."""
    groups: dict[tuple[Any, ...], list[tuple[int, int]]] = defaultdict(list)
    for delivery in deliveries:
        if len(delivery.visits) < 2 or delivery.flags & SYSTEM:
            continue
        at = delivery.visits[-1][1]
        path = path_of(delivery)
        for leg, start, end, ms in legs(delivery):
            key = (
                at - at % length, at - at % length + length, delivery.from_service,
                delivery.to_service, path[-1], ">".join(path), len(path) - 1, leg, start, end,
            )  # fmt: skip
            groups[key].append((ms, delivery.attempt))
    return tuple(_window(key, groups[key]) for key in sorted(groups))


def _window(key: tuple[Any, ...], figures: list[tuple[int, int]]) -> LatencyWindow:
    values = [ms for ms, _ in figures]
    start, end, from_service, to_service, target, path, hops, leg, leg_from, leg_to = key
    return LatencyWindow(
        window_start=start,
        window_end=end,
        from_service=from_service,
        to_service=to_service,
        target=target,
        path=path,
        leg=leg,
        leg_from=leg_from,
        leg_to=leg_to,
        hops=hops,
        count=len(values),
        attempts=sum(attempt for _, attempt in figures),
        min=min(values),
        max=max(values),
        p50=round(recomputed(values, 0.5), 6),
        p95=round(recomputed(values, 0.95), 6),
        p99=round(recomputed(values, 0.99), 6),
        histogram=tuple(sorted(Counter(map(float, values)).items())),
    )
