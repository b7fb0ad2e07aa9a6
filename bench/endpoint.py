"""The cost of an endpoint worker without Kafka: `python -m bench.endpoint`.

Two workers exchange records in memory: SENDs of many dialogs go into one worker, its copies go into
the other, and the acknowledgements come back. The baseline of the same rounds reads each record and
writes it again. `--profile` shows a profile of the time.
"""

from __future__ import annotations

import cProfile
import pstats
import threading
import time
import uuid
from collections.abc import Sequence
from typing import Any

from bench.part import hand_over, options, progress
from bench.rows import Measurement, Unit
from streams.kafka import Cluster, Message, headers_of
from streams.node import Dialogs, Endpoint, catalog_of
from streams.protocol import Command, CommandKind
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import INSIDE, ORIGIN, command_record
from streams.wire.state import Positions, unpack_dialog
from streams.workers.collector import collecting_rarely
from streams.workers.endpoint.allowance import Allowance
from streams.workers.endpoint.bodies import Bodies
from streams.workers.endpoint.inputs import Inputs, Intake
from streams.workers.endpoint.look_ahead import LookAhead
from streams.workers.endpoint.output import Output
from streams.workers.endpoint.partition import Partition

FROM, TO = "//sqltalk/sendTweetService", "//sqltalk/rcvTweetService"
BODY = bytes(400)
GROUP = "an endpoint worker's work, CPU time per message, no Kafka"
Produced = list[tuple[str, dict[str, Any]]]


class Collected:
    """A stand-in for Kafka's producer, which keeps the produced records."""

    def __init__(self) -> None:
        self.records: Produced = []

    def produce(self, topic: str, value: Any, key: Any, *others: Any) -> None:
        """Keep a record."""
        self.records.append((topic, {"key": key, "value": value, "headers": others[-1]}))

    def flush(self, _: float) -> int:
        """Report that no record is in flight."""
        return 0


class Side:
    """One instance's endpoint worker without Kafka; ``cpu`` is the CPU time used so far."""

    def __init__(self, instance: str, cluster: Cluster, profile: cProfile.Profile | None) -> None:
        topics, now = cluster.topics, time.time()
        self.inputs = Inputs.of(topics, instance)
        self.topics, self.profile = topics, profile
        self._intake = Intake(self.inputs, 1, lambda _: None, lambda _: False)
        self._sink = Collected()
        self._output = Output(topics, instance, self._sink, threading.Event())  # type: ignore[arg-type]
        catalog = catalog_of(load(topologies_dir() / "forwarding_chain", now), 1)
        bodies = Bodies.of(cluster, self.inputs.cmd, self.inputs.inbox, 0, 64 << 20)
        ahead = LookAhead(cluster, self.inputs.inbox, 0)
        positions = dict.fromkeys(self.inputs, 0)
        self.owned = Partition(
            0, Endpoint(instance, catalog, dialogs=Dialogs(unpack_dialog)), bodies, ahead,
            positions, {}, Allowance(10_000),
        )  # fmt: skip
        self.cpu = 0.0

    def apply(self, messages: Sequence[Message]) -> Produced:
        """Run one transaction like the worker; return the written records."""
        owned, read_at = self.owned, time.monotonic()
        if self.profile:
            self.profile.enable()
        began = time.thread_time()
        tx = owned.endpoint.begin(owned.bodies, time.time_ns() // 1_000_000, timers=False)
        positions = dict(owned.positions)
        for message in messages:
            read = self._intake.read(message, read_at)
            self._intake.apply(tx, owned.bodies, message, read)
            positions[message.topic() or ""] = (message.offset() or 0) + 1
        tx.close()
        self._output.begin()
        self._output.write(tx, 0, Positions(*(positions[t] for t in self.inputs)))
        self._output.send()
        owned.merge(tx, 0, positions)
        self.cpu += time.thread_time() - began
        if self.profile:
            self.profile.disable()
        written, self._sink.records = self._sink.records, []
        return written

    def received(self, topic: str, records: Produced, headers: Sequence[Any] = ()) -> list[Message]:
        """Return records as the worker would read them from one of its inputs."""
        first, now = self.owned.positions[topic], time.time_ns() // 1_000_000
        return [
            Message(topic=topic, partition=0, offset=first + n, key=r["key"], value=r["value"],
                    headers=[*(r["headers"] or ()), *headers], timestamp=(1, now))
            for n, (_, r) in enumerate(records)
        ]  # fmt: skip


def statements(kind: CommandKind, ids: Sequence[uuid.UUID]) -> Produced:
    """Return one statement for each conversation, as a client would write it."""
    begin = kind is CommandKind.BEGIN
    fields: dict[str, Any] = {"from_service": FROM, "to_service": TO} if begin else {"body": BODY}
    records: Produced = []
    now = time.time_ns() // 1_000_000
    for number in ids:
        key, value, headers = command_record(
            Command(number, uuid.uuid4(), kind, "DatabaseA", issued_at=now, **fields)
        )
        records.append(("", {"key": key, "value": value, "headers": headers}))
    return records


def passed_on(messages: Sequence[Message], sink: Collected) -> float:
    """Read and write the same records; return the CPU time."""
    began = time.thread_time()
    for message in messages:
        sink.produce(
            message.topic() or "", message.value(), message.key(), 0, None, None,
            message.timestamp()[1], headers_of(message),
        )  # fmt: skip
    used = time.thread_time() - began
    sink.records.clear()
    return used


def round_of(
    one: Side, other: Side, ids: Sequence[uuid.UUID], each: int
) -> tuple[float, float, float]:
    """Send ``each`` messages on every dialog; return the CPU of baseline, initiator and target."""
    one.cpu = other.cpu = 0.0
    said = one.received(one.inputs.cmd, statements(CommandKind.SEND, list(ids) * each))
    base = passed_on(said, Collected())
    frames = [r for r in one.apply(said) if r[0] == one.topics.out("SQL1")]
    arrived = other.received(other.inputs.inbox, frames, [(ORIGIN, INSIDE)])
    answers = [r for r in other.apply(arrived) if r[0] == other.topics.out("SQL3")]
    one.apply(one.received(one.inputs.ack, answers))
    assert len(frames) == len(said), len(frames)
    assert len(answers) == len(ids), len(answers)
    return base, one.cpu, other.cpu


def rows_of(
    each: int, found: Sequence[tuple[float, float, float]], count: int
) -> list[Measurement]:
    """Return the CPU time of both sides for one message, in every round."""
    base, *sides = (tuple(value / count for value in column) for column in zip(*found, strict=True))
    what = f"{each} in each dialog"
    return [
        Measurement(GROUP, f"{side}, {what}", Unit.SECONDS, values, "read and written", base)
        for side, values in zip(("initiator", "target"), sides, strict=True)
    ]


def main() -> None:
    """Print the CPU time of a message, and its ratio to the baseline."""
    parser = options(__doc__)
    parser.add_argument("--dialogs", type=int, default=1_000)
    parser.add_argument("--open", type=int, default=0, help="dialogs that are open besides")
    parser.add_argument("--each", type=int, nargs="*", default=[1, 5, 20])
    parser.add_argument("--profile", choices=("initiator", "target"))
    given = parser.parse_args()
    profile = cProfile.Profile(time.thread_time) if given.profile else None
    cluster = Cluster("nowhere:1", Topics("bench."))
    one = Side("SQL1", cluster, profile if given.profile == "initiator" else None)
    other = Side("SQL3", cluster, profile if given.profile == "target" else None)
    ids = [uuid.uuid4() for _ in range(given.dialogs + given.open)]
    one.apply(one.received(one.inputs.cmd, statements(CommandKind.BEGIN, ids)))
    for number in range(given.dialogs, len(ids), 1_000):
        round_of(one, other, ids[number : number + 1_000], 1)
    rows: list[Measurement] = []
    with collecting_rarely():
        for each in given.each:
            progress(f"{GROUP}: {each} messages of each dialog in a transaction")
            round_of(one, other, ids[: given.dialogs], each)  # things warm up
            found = [round_of(one, other, ids[: given.dialogs], each) for _ in range(given.rounds)]
            rows += rows_of(each, found, given.dialogs * each)
    hand_over(rows, given)
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    main()
