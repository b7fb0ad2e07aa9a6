"""Random traffic from a seed: several paths, retries, disorder, system messages."""

from __future__ import annotations

import random

from streams.protocol.frames import Flag
from tests.monitor.records import NOON, Delivery

_PATHS = (
    ("ServerA", "ServerB", "ServerB/DatabaseB"),
    ("ServerA", "GatewayA", "ServerB", "ServerB/DatabaseB"),
    ("ServerA", "GatewayB", "ServerB", "ServerB/DatabaseB"),
    ("ServerA", "ServerA/DatabaseA"),
    ("ServerA/DatabaseA",),
)


def deliveries(count: int, *, seed: int = 1, span: int = 45_000) -> list[Delivery]:
    """Return messages that were enqueued within ``span`` ms, in about the order of arrival."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        enqueued_at = NOON + chance.randrange(span)
        at, visits = enqueued_at, []
        for name in chance.choice(_PATHS):
            at += int(chance.expovariate(1 / 15))
            visits.append((name, at))
        made.append(
            Delivery(
                id=number,
                enqueued_at=enqueued_at,
                visits=tuple(visits),
                from_service=chance.choice(["InitiatorService", "//shop/Bestellung\u00e4"]),
                attempt=max(0, chance.randrange(20) - 17),
                flags=chance.choice([Flag.NONE] * 9 + [Flag.END]),
            )
        )
    return sorted(made, key=lambda d: d.visits[-1][1] + chance.randrange(3_000))
