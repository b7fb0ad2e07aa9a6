"""The cost of an endpoint worker on a real Kafka: `python -m bench.kafka_endpoint`.

One worker runs alone; SENDs of 1,000 dialogs wait for it in ``cmd`` (initiator), or their copies in
``in`` (target). The baseline of the same run is a transactional passthrough of the same records:
consume, produce, send the offsets, commit, with as many records per transaction. The loops run
alternately, each in its own process and on the topics of its round.
"""

from __future__ import annotations

import json
import threading
import time
import uuid

from bench.frames import BODY, write_frame
from bench.kafka_end_to_end import FROM, TO
from bench.part import hand_over, options, progress
from bench.rows import at_most
from bench.turns import Turn, by_turns, in_a_process, lasting_broker, rows_of
from streams.kafka import Cluster, TopicPartition, deploy
from streams.protocol import Command, CommandKind
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import command_record
from streams.workers import Control, EndpointWorker, Pace, Tuning
from streams.workers.collector import collecting_rarely

DIALOGS = 1_000
LOOPS = {
    "passthrough of cmd": "passthrough of cmd",
    "initiator": "passthrough of cmd",
    "passthrough of in": "passthrough of in",
    "target": "passthrough of in",
}
Took = tuple[float, float, int]


def source_of(topics: Topics, loop: str) -> tuple[str, str]:
    """Return the topic that a loop reads, and the topic that a passthrough writes."""
    if loop in ("initiator", "passthrough of cmd"):
        return topics.cmd("SQL1"), topics.txq("SQL1")
    return topics.inbox("SQL3"), topics.txq("SQL3")


# --- one loop, in a process of its own -----------------------------------------------------------


def passthrough(cluster: Cluster, loop: str, count: int, pace: Pace) -> Took:
    """Copy the records in transactions, without decoding them."""
    source, copies = source_of(cluster.topics, loop)
    consumer = cluster.consumer(f"bench.{uuid.uuid4()}")
    producer = cluster.producer(
        transactional_id=f"bench.{uuid.uuid4()}", linger_ms=0, delivery_report_only_error=False
    )
    producer.init_transactions(30)
    consumer.subscribe([source], on_assign=_from_the_beginning)
    done, begun = 0, (0.0, 0.0, 0)
    while done < count:
        first = consumer.poll(0.05)
        if first is None:
            continue
        batch = [first, *consumer.consume(*pace.value)]
        producer.begin_transaction()
        for message in batch:
            producer.produce(
                copies, message.value(), message.key(), 0, None, None,
                message.timestamp()[1], message.headers(),
            )  # fmt: skip
        after = TopicPartition(source, 0, (batch[-1].offset() or 0) + 1)
        producer.send_offsets_to_transaction([after], consumer.consumer_group_metadata())
        producer.commit_transaction(30)
        begun = begun if done else (time.process_time(), time.monotonic(), len(batch))
        done += len(batch)
    took = time.process_time() - begun[0], time.monotonic() - begun[1], done - begun[2]
    consumer.close()
    return took


def _from_the_beginning(consumer: object, partitions: list[TopicPartition]) -> None:
    for partition in partitions:
        partition.offset = 0
    consumer.assign(partitions)  # type: ignore[attr-defined]


def worker(cluster: Cluster, loop: str, count: int, pace: Pace) -> Took:
    """Let the worker apply the records; its cost before the first commit counts as the start."""
    source, _ = source_of(cluster.topics, loop)
    control, stop = Control(cluster, ()), threading.Event()
    control.start()
    instance = "SQL1" if loop == "initiator" else "SQL3"
    runs = EndpointWorker(cluster, instance, control, tuning=Tuning(pace=pace))
    marks: list[Took] = []

    def position() -> int:
        owned = runs.assignment.owned.get(0)
        return owned.positions[source] if owned is not None else 0

    def watch() -> None:
        for least in (1, count):
            while (at := position()) < least:
                time.sleep(0.01)
            marks.append((time.process_time(), time.monotonic(), at))
        stop.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    with collecting_rarely():
        runs.run(stop)
    watcher.join()
    control.stop()
    (cpu, wall, first), (cpu_end, wall_end, last) = marks
    return cpu_end - cpu, wall_end - wall, last - first


# --- the table -----------------------------------------------------------------------------------


def fill(cluster: Cluster, each: int) -> int:
    """Write the input of both workers; return the number of records in each topic."""
    now, ids = time.time_ns() // 1_000_000, [uuid.uuid4() for _ in range(DIALOGS)]
    topics, producer = cluster.topics, cluster.producer(linger_ms=20)

    def put(topic: str, wire: tuple[bytes, bytes | None, list[tuple[str, bytes | None]]]) -> None:
        key, value, headers = wire
        producer.produce(topic, value, key, headers=headers)  # type: ignore[arg-type]

    for one in ids:
        begin = Command(
            one, uuid.uuid4(), CommandKind.BEGIN, "DatabaseA", issued_at=now, from_service=FROM,
            to_service=TO,
        )  # fmt: skip
        put(topics.cmd("SQL1"), command_record(begin))
    for number in range(each):
        sent = now + number * 50
        for one in ids:
            command = Command(
                one, uuid.uuid4(), CommandKind.SEND, "DatabaseA", issued_at=now, body=BODY
            )
            put(topics.cmd("SQL1"), command_record(command))
            write_frame(producer, topics.inbox("SQL3"), one, number, command.command_id, sent)
        producer.poll(0)
    producer.flush()
    return DIALOGS * each


def main() -> None:
    """Print the table, or run one loop."""
    parser = options(__doc__)
    parser.add_argument("--each", type=int, default=60, help="messages of a dialog, at most 64")
    parser.add_argument("--pace", choices=[p.name for p in Pace], default=Pace.THROUGHPUT.name)
    parser.add_argument("--only", choices=LOOPS)
    parser.add_argument("--bootstrap", help="with --only: a broker with the records")
    parser.add_argument("--prefix", default="bench.")
    parser.add_argument("--count", type=int)
    given = parser.parse_args()
    if given.only:
        run = passthrough if given.only.startswith("passthrough") else worker
        cluster = Cluster(given.bootstrap, Topics(given.prefix))
        print(json.dumps(run(cluster, given.only, given.count, Pace[given.pace])))
        return
    with lasting_broker() as broker:
        pid = broker.data.recorded().pid  # type: ignore[union-attr]
        made: dict[int, tuple[str, int]] = {}

        def in_round(loop: str, number: int) -> Turn:
            if number not in made:
                prefix = f"bench{number}."
                progress(f"endpoint worker: {DIALOGS * given.each:,} records for each side")
                cluster = Cluster(broker.bootstrap, Topics(prefix))
                deploy(cluster, load(topologies_dir() / "forwarding_chain", time.time()))
                made[number] = prefix, fill(cluster, given.each)
            prefix, count = made[number]
            arguments = ["--only", loop, "--bootstrap", broker.bootstrap, "--prefix", prefix,
                         "--count", str(count), "--pace", given.pace]  # fmt: skip
            return in_a_process("bench.kafka_endpoint", arguments, pid)

        turns = by_turns(tuple(LOOPS), given.rounds, in_round)
    hand_over(
        [
            row
            for loop, baseline in LOOPS.items()
            if loop != baseline
            for row in rows_of(turns, f"endpoint worker, {loop}, pace {given.pace.lower()}", loop,
                               baseline, {"client": at_most(2)})
        ],
        given,
    )  # fmt: skip


if __name__ == "__main__":
    main()
