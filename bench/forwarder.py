"""What a forwarder's own work costs per message, apart from Kafka: `python bench/forwarder.py`.

The baseline of the same run is building the record and doing nothing with it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from streams.node import Forwarder, Record, world_of
from streams.protocol import Flag, Header, Journey, Parties
from streams.resources import topologies_dir
from streams.routing import Origin
from streams.topology import load
from streams.wire import Envelope, encode_header, encode_journey, encode_parties

COUNT = 100_000
NOW = 1_800_000_000_000


def record(origin: Origin, parties: Parties, conversation: uuid.UUID) -> Record:
    """Build a record as the worker does for each message."""
    header = Header(uuid.UUID(int=7), "//hopline/Order", 0, NOW, NOW + 10**7, Flag.NONE)
    journey = Journey(16, NOW + 60_000, 0, NOW, 0, (("ServerA", NOW),))
    route, message, hop = (
        encode_parties(parties),
        encode_header(header),
        encode_journey(journey),
    )
    return Record(origin, str(conversation).encode(), route, hop, 400, False, message)


def per_message(work: Callable[[Record], object], records: list[Record]) -> float:
    """Return the microseconds of one call, the best of five rounds."""
    best = float("inf")
    for _ in range(5):
        begun = time.process_time()
        for one in records:
            work(one)
        best = min(best, time.process_time() - begun)
    return best / len(records) * 1e6


def main() -> None:
    """Print one line per case."""
    world = world_of(load(topologies_dir() / "combined", NOW / 1000), 1)
    from_a = Parties(
        "TargetService",
        None,
        "InitiatorService",
        world.instances["ServerA"].databases["DatabaseA"].broker_id,
        "//hopline/OrderContract",
        True,
    )
    to_b = Parties(
        from_a.to_service,
        "DatabaseB",
        from_a.from_service,
        from_a.from_broker,
        from_a.contract,
        True,
    )
    ids = [uuid.UUID(int=(i * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128) for i in range(COUNT)]
    cases = (
        ("send, balanced over two broker ids", "ServerA", Origin.INSIDE, from_a),
        ("send, locked to a broker id", "ServerA", Origin.INSIDE, to_b),
        ("forward at a gateway", "GatewayA", Origin.OUTSIDE, to_b),
        ("deliver at the target", "ServerB", Origin.OUTSIDE, to_b),
    )
    baseline = 0.0
    for name, instance, origin, parties in cases:
        records = [record(origin, parties, i) for i in ids[:2000]] * (COUNT // 2000)
        if not baseline:
            baseline = per_message(
                lambda r: Record(r.origin, r.key, r.route, r.hop, r.size, r.is_ack, r.message),
                records,
            )
            print(f"{'record built, nothing decided':<40}{baseline:6.2f} us   1.0 x")
        forwarder = Forwarder(instance, world, Envelope, lambda _: True)
        cost = per_message(lambda r, f=forwarder: f.handle(r, NOW), records)  # type: ignore[misc]
        print(f"{name:<40}{cost:6.2f} us {cost / baseline:5.1f} x")


if __name__ == "__main__":
    main()
