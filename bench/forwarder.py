"""The cost per message of a forwarder without Kafka: `python -m bench.forwarder`.

The baseline of the same rounds builds the record and does nothing with it. For 10,000 routes to as
many services, all used in turn, the baseline is the same run with 10 routes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace

from bench.part import hand_over, options, progress
from bench.rows import NO_GROWTH, Measurement, Unit
from streams.node import CatalogView, Forwarder, Record, catalog_of
from streams.protocol import Flag, Header, Journey, Parties
from streams.resources import topologies_dir
from streams.routing import Origin
from streams.topology import Route, load
from streams.wire import Envelope, encode_header, encode_journey, encode_parties

COUNT, DISTINCT = 100_000, 10_000
GROUP = "a forwarder's decision, CPU time of each, no Kafka"
MANY = "10,000 routes, all of them used"
Work = Callable[[Record], object]
NOW = 1_800_000_000_000


def record(origin: Origin, parties: Parties, conversation: uuid.UUID) -> Record:
    """Build a record, like the worker for each message."""
    header = Header(uuid.UUID(int=7), "//hopline/Order", 0, NOW, NOW + 10**7, Flag.NONE)
    journey = Journey(16, NOW + 60_000, 0, NOW, 0, (("ServerA", NOW),))
    route, message, hop = (
        encode_parties(parties),
        encode_header(header),
        encode_journey(journey),
    )
    return Record(origin, str(conversation).encode(), route, hop, 400, False, message)


def per_message(work: Callable[[Record], object], records: Sequence[Record]) -> float:
    """Return the CPU seconds per call."""
    begun = time.process_time()
    for one in records:
        work(one)
    return (time.process_time() - begun) / len(records)


def built(one: Record) -> Record:
    """Only build the record, as the baseline."""
    return Record(one.origin, one.key, one.route, one.hop, one.size, one.is_ack, one.message)


def cases(ids: Sequence[uuid.UUID]) -> dict[str, tuple[Work, list[Record]]]:
    """Return a forwarder's work at each place of a path."""
    catalog = catalog_of(load(topologies_dir() / "combined", NOW / 1000), 1)
    home = catalog.instances["ServerA"].databases["DatabaseA"].broker_id
    from_a = Parties(
        "TargetService", None, "InitiatorService", home, "//hopline/OrderContract", True
    )
    to_b = from_a._replace(to_broker="DatabaseB")
    made: dict[str, tuple[Work, list[Record]]] = {}
    for name, instance, origin, parties in (
        ("send, balanced over two ids", "ServerA", Origin.INSIDE, from_a),
        ("send, locked to a broker id", "ServerA", Origin.INSIDE, to_b),
        ("forward at a gateway", "GatewayA", Origin.OUTSIDE, to_b),
        ("deliver at the target", "ServerB", Origin.OUTSIDE, to_b),
    ):
        records = [record(origin, parties, i) for i in ids[:2000]] * (COUNT // 2000)
        made[name] = handling(instance, catalog), records
    return made


def routed(count: int, ids: Sequence[uuid.UUID]) -> tuple[Work, list[Record]]:
    """Return a gateway with this number of routes, and messages for each service in turn."""
    topology = load(topologies_dir() / "combined", NOW / 1000)
    at = topology.instances["GatewayA"]
    routes = tuple(
        Route(f"R{n}", f"//bench/Service{n}", None, "tcp://ServerB:4022") for n in range(count)
    )
    more = replace(at, msdb=replace(at.msdb, routes=(*at.msdb.routes, *routes)))
    catalog = catalog_of(replace(topology, instances={**topology.instances, at.name: more}), 1)
    records = [
        record(Origin.OUTSIDE, Parties(f"//bench/Service{n % count}", None, "S", "B", "C", True), i)
        for n, i in enumerate(ids[:DISTINCT])
    ]
    return handling(at.name, catalog), (records * COUNT)[:COUNT]


def handling(instance: str, catalog: CatalogView) -> Work:
    """Return a forwarder's decision about a record."""
    forwarder = Forwarder(instance, catalog, Envelope, lambda _: True)
    return lambda one: forwarder.handle(one, NOW)


def compare(
    what: str, one: tuple[Work, list[Record]], other: tuple[Work, list[Record]], rounds: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the cost of both in every round, alternately, after a warm-up round."""
    progress(f"{GROUP}: {what}")
    pairs = [(per_message(*one), per_message(*other)) for _ in range(rounds + 1)][1:]
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


def main() -> None:
    """Print one line for each case."""
    given = options(__doc__).parse_args()
    ids = [uuid.UUID(int=(i * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128) for i in range(COUNT)]
    rows: list[Measurement] = []
    for name, case in cases(ids).items():
        found, base = compare(name, case, (built, case[1]), given.rounds)
        rows.append(Measurement(GROUP, name, Unit.SECONDS, found, "the record is built", base))
    found, base = compare(MANY, routed(10_000, ids), routed(10, ids), given.rounds)
    rows.append(Measurement(GROUP, MANY, Unit.SECONDS, found, "10 routes", base, NO_GROWTH))
    hand_over(rows, given)


if __name__ == "__main__":
    main()
