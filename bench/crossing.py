"""The cost of a forwarder that writes into another cluster: `python -m bench.crossing`.

This measures a worker's whole loop for a batch without Kafka, with a producer that confirms every
record immediately. The baseline of the same rounds is a gateway that forwards the same messages
within its own cluster.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any, cast

from bench.part import hand_over, options, progress
from bench.rows import Measurement, Unit
from streams.kafka import Message
from streams.node import CatalogView, catalog_of
from streams.protocol import Flag, Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import load, share_of
from streams.wire import Topics, encode_header, encode_journey, encode_parties
from streams.wire.frame_headers import HOP_CODEC, MESSAGE_CODEC, ROUTE_CODEC
from streams.wire.records import HOP, MESSAGE, ROUTE
from streams.workers import Control
from streams.workers.forwarder.offset_tracker import OffsetTracker
from streams.workers.forwarder.processor import Processor
from streams.workers.forwarder.restart_state import Lasting
from streams.workers.ownership import PairOwnership

GROUP = "a gateway's loop, CPU time of each message, no Kafka"
BATCH, BATCHES = 1_000, 30
NOW = 1_800_000_000_000
Loop = Callable[[], object]


class Producer:
    """A producer that accepts every record, and confirms it when it is polled."""

    def __init__(self) -> None:
        self._reports: list[Callable[[None, None], None]] = []

    def produce(self, *given: Any) -> None:
        """Accept a record by positional arguments: topic, value, key, partition, callback, ..."""
        self._reports.append(given[4])

    def poll(self, _: float) -> None:
        """Confirm the accepted records."""
        reports, self._reports = self._reports, []
        for report in reports:
            report(None, None)


class Elsewhere:
    """A stand-in for a cluster, its neighbours, and the rest of a forwarder's process."""

    topics = Topics()
    announced_prefixes = frozenset({ROUTE_CODEC.prefix, MESSAGE_CODEC.prefix, HOP_CODEC.prefix})

    def __init__(self, catalog: CatalogView, ahead: int = 0) -> None:
        self.catalog, self.remote, self._ahead = catalog, self, ahead

    def producer(self, **_: Any) -> Producer:
        """Return a producer."""
        return Producer()

    def cluster_of(self, _: str) -> Elsewhere:
        """Return a neighbour's cluster."""
        return self

    def announced(self, _: str) -> frozenset[bytes]:
        """Return the schemas that can be read there."""
        return self.announced_prefixes

    def admitted(self, _: str) -> str:
        """Return the name by which the gateways there know this cluster."""
        return self.catalog.cluster

    def ahead(self, _: str) -> int:
        """Return how far the clock there is ahead."""
        return self._ahead

    def knows(self, _: object) -> bool:
        """Return whether there is a neighbour in another cluster."""
        return True

    def reachable(self, _: str) -> bool:
        """Return whether an instance is alive."""
        return True

    def now(self) -> int:
        """Return the current time."""
        return NOW


class Home:
    """The local producer, for copies that stay in the cluster."""

    def __init__(self) -> None:
        self._producer = Producer()

    def copy(self, report: Any, topic: str, value: Any, key: bytes, at: int, headers: Any) -> None:
        """Produce a copy on the fast path, without a success report."""

    def produce(self, *_: Any) -> None:
        """Produce a copy outside of the fast path."""

    def report(self, topic: str, partition: int, offset: int | None = None) -> None:
        """Return the callback for a record that fails."""


def gateway(catalog: CatalogView, at: str, *, lanes: bool = True, ahead: int = 0) -> Processor:
    """Return a processor of a forwarder's records, in its state between batches."""
    around = cast(Any, Elsewhere(catalog, ahead))
    control = cast(Control, around)
    ownership, lasting = PairOwnership(control, at), Lasting.of(around, control)
    processor = Processor(around, ownership, control, lasting, cast(Any, Home()), OffsetTracker())
    if not lanes:
        processor._fast_path.take = lambda *_: False  # type: ignore[method-assign]
    return processor


def messages(at: str, service: str) -> list[Message]:
    """Return a batch: messages of different dialogs, sent in one transaction."""
    parties = Parties(service, "DatabaseB", "Sender", "DatabaseA", "//hopline/Contract", True)
    journey = Journey(16, NOW + 60_000, 0, NOW, 0, (("ServerA", NOW),))
    route, hop = encode_parties(parties), encode_journey(journey)
    made = []
    for number in range(BATCH):
        header = Header(uuid.UUID(int=number), "//hopline/Order", 0, NOW, NOW + 10**9, Flag.NONE)
        made.append(
            Message(
                topic=Topics().txq(at), partition=0, offset=number, timestamp=(1, NOW),
                key=str(uuid.UUID(int=number)).encode(), value=bytes(400),
                headers=[(ROUTE, route), (MESSAGE, encode_header(header)), (HOP, hop)],
            )
        )  # fmt: skip
    return made


def loop(processor: Processor, batch: list[Message]) -> Loop:
    """Return the work of one batch, including delivery reports."""

    def work() -> None:
        processor.pass_on(batch)
        processor.take_back()

    return work


def per_message(work: Loop) -> float:
    """Return the CPU seconds per message."""
    begun = time.process_time()
    for _ in range(BATCHES):
        work()
    return (time.process_time() - begun) / (BATCHES * BATCH)


def cases() -> tuple[Loop, dict[str, Loop]]:
    """Return the baseline, and the paths into another cluster."""
    root = topologies_dir()
    own = catalog_of(load(root / "combined", NOW / 1000), 1)
    two = catalog_of(share_of(load(root / "two_clusters", NOW / 1000), "buyer"), 1)
    batch = messages("GatewayA", "SupplierService")
    ways = {
        "across, decided one by one": gateway(two, "GatewayA", lanes=False),
        "across, by its lane": gateway(two, "GatewayA"),
        "across, by its lane, clocks differ": gateway(two, "GatewayA", ahead=600_000),
    }
    home = loop(gateway(own, "GatewayA"), messages("GatewayA", "TargetService"))
    return home, {name: loop(processor, batch) for name, processor in ways.items()}


def main() -> None:
    """Print one line for each case."""
    given = options(__doc__).parse_args()
    home, ways = cases()
    rows: list[Measurement] = []
    for name, work in ways.items():
        progress(f"{GROUP}: {name}")
        pairs = [(per_message(work), per_message(home)) for _ in range(given.rounds + 1)][1:]
        found, base = (tuple(column) for column in zip(*pairs, strict=True))
        rows.append(
            Measurement(GROUP, name, Unit.SECONDS, found, "within its cluster, by its lane", base)
        )
    hand_over(rows, given)


if __name__ == "__main__":
    main()
