"""The speed of the monitor alone: `python -m bench.kafka_monitor`.

First all queries read a backlog of messages to its end. Then messages are delivered at a steady
rate, and the delay of each is measured from its delivery to the commit of the store's row that
counts it. Finally the size of the state on disk is measured. The records are those that a forwarder
and an endpoint worker leave behind: a frame in ``out``, a message in a queue, three visits, 400
bytes of body.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import quantiles
from typing import Any

from bench.part import progress
from streams.embedded import Broker
from streams.kafka import Cluster, Producer, create
from streams.monitor import MonitorConfig, close_session, open_session
from streams.monitor.queries import queries
from streams.protocol import Header, Journey, Parties
from streams.store import LatencyWindow, Row, Store
from streams.wire import Topics, encode_header, encode_journey, encode_parties
from streams.wire.specs import spec

BODY, IN_DIALOG = b"x" * 400, 10
_PARTIES = encode_parties(Parties("Target", "B", "Initiator", "A", "DEFAULT", True, True))
_LOOK = 0.2


class Counting:
    """A sink that records at which times the store had how many deliveries."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counts: dict[tuple[object, ...], int] = {}
        self.total, self.notes = 0, list[tuple[float, int]]()

    def write(self, query: str, run: str, batch_id: int, rows: Iterable[Row]) -> bool:
        """Write a batch, then count the deliveries in the store."""
        found = tuple(rows)
        written = self._store.write(query, run, batch_id, found)
        for row in found:
            if isinstance(row, LatencyWindow) and row.leg == 0:
                key = (row.window_start, row.path)
                self.total += row.count - self._counts.get(key, 0)
                self._counts[key] = row.count
        if query == "deliveries":
            self.notes.append((time.time(), self.total))
        return written


def messages(cluster: Cluster, producer: Producer, first: int, count: int, now: int) -> None:
    """Write the records of messages that were delivered at an instant (epoch ms)."""
    names = cluster.topics
    out, queue = names.out("ServerA"), names.queue("ServerB", "D", "Q")
    path = (("ServerA", now - 12), ("ServerB", now - 4), ("ServerB/D", now))
    sent = encode_journey(Journey(15, now + 60_000, 0, now - 15, 0, ()))
    arrived = encode_journey(Journey(13, now + 60_000, 0, now - 15, 0, path))
    for number in range(first, first + count):
        dialog = uuid.UUID(int=(number // IN_DIALOG) * 0x9E3779B97F4A7C15 % (1 << 128))
        message = uuid.UUID(int=number * 0xD1B54A32D192ED03D1B54A32D192ED03 % (1 << 128))
        header = encode_header(
            Header(message, "DEFAULT", number % IN_DIALOG, now - 20, now + 86_400_000)
        )
        key = str(dialog).encode()
        headers = [("sb-route", _PARTIES), ("sb-message", header)]
        frame = [*headers, ("sb-hop", sent)]
        queued = [*headers, ("sb-hop", arrived), ("sb-conversation", dialog.bytes)]
        producer.produce(out, BODY, key=key, headers=frame, timestamp=now - 20)
        producer.produce(queue, BODY, key=key, headers=queued, timestamp=now - 20)
        if not number % 1_000:
            producer.poll(0)


def paced(cluster: Cluster, first: int, rate: int, seconds: float) -> Iterator[tuple[float, int]]:
    """Deliver at a rate; yield the time in epoch seconds, and the number delivered by then."""
    producer, began, done = cluster.producer(linger_ms=5), time.time(), 0
    while time.time() < began + seconds:
        now = time.time()
        due = int((now - began) * rate) - done
        if due:
            messages(cluster, producer, first + done, due, int(now * 1000))
            done += due
            yield now, first + done
        time.sleep(0.02)
    producer.flush(60)


def delays(delivered: list[tuple[float, int]], notes: list[tuple[float, int]]) -> list[float]:
    """Return for each group of messages the time until the store had counted it."""
    found, rest = [], iter(notes)
    at, total = next(rest)
    for when, upto in delivered:
        while total < upto:
            at, total = next(rest)
        found.append(at - when)
    return found


def measure(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run all measurements on a separate broker; return the figures."""
    with Broker(folder / "kafka") as broker:
        cluster = Cluster(broker.bootstrap, Topics("ssb."))
        names = cluster.topics
        queue = spec(names.queue("ServerB", "D", "Q"), "queue")
        create(cluster, [spec(names.out("ServerA"), "out"), queue, spec(names.event, "event")])
        create(cluster, [spec(names.presence, "presence"), spec(names.dialog("ServerA"), "dialog")])
        producer = cluster.producer()
        messages(cluster, producer, 0, given.messages, time.time_ns() // 1_000_000)
        producer.flush(600)
        progress("the backlog is written")
        config = MonitorConfig(
            broker.bootstrap, master=given.master, checkpoint=folder / "c", until_idle=1.0
        )
        spark = open_session(master=given.master, log=folder / "spark.log")
        try:
            return _with(spark, cluster, config, given, folder)
        finally:
            close_session(spark)


def _with(
    spark: Any, cluster: Cluster, config: MonitorConfig, given: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    counting = Counting(Store.open(f"sqlite:///{folder}/m.sqlite"))
    defined = queries(spark, config, counting)
    began = time.time()
    running = [one.start(config.checkpoint.as_uri(), trigger_ms=config.trigger) for one in defined]
    reads = 2 * given.messages + 3 * given.messages  # the query for messages reads out too
    while sum(_rows(query) for query in running) < reads:
        time.sleep(_LOOK)
    backlog = time.time() - began
    progress(f"the backlog is read after {backlog:.1f} s")
    speeds = {str(query.name): _speed(query) for query in running}
    sizes = {one.name: _bytes(config.checkpoint / one.name / "state") for one in defined}
    delivered: list[tuple[float, int]] = []
    if given.rate:
        beginning = threading.Event()
        beginning.wait(5)
        delivered = list(paced(cluster, given.messages, given.rate, given.seconds))
        last = given.messages + int(given.rate * given.seconds * 0.9)
        while counting.total < max(last, delivered[-1][1]):
            time.sleep(_LOOK)
    for query in running:
        query.stop()
    found = delays(delivered, counting.notes) if delivered else []
    cuts = quantiles(found, n=100) if found else []
    return {
        "master": given.master,
        "messages": given.messages,
        "backlog, s": round(backlog, 1),
        "rows/s by query, its largest batch": speeds,
        "state, bytes": sizes,
        "rate": given.rate,
        "delay, s": {n: round(cuts[n - 1], 2) for n in (50, 95, 99)} if cuts else {},
    }


def _rows(query: Any) -> int:
    return sum(p.numInputRows for p in query.recentProgress if query.name in _COUNTED)


_COUNTED = ("deliveries", "messages", "gaps", "repeats")


def _speed(query: Any) -> int:
    largest = max(query.recentProgress, key=lambda p: p.numInputRows, default=None)
    return round(largest.processedRowsPerSecond) if largest else 0


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=200_000, help="the backlog")
    parser.add_argument("--rate", type=int, default=5_000, help="deliveries per second; 0: none")
    parser.add_argument("--seconds", type=float, default=40.0, help="for how long")
    parser.add_argument("--master", default="local[2]", help="Spark's master")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(given, Path(folder)), indent=1))


if __name__ == "__main__":
    main()
