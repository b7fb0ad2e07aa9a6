"""The cost of a service as a Faust agent on a real Kafka: `python -m bench.kafka_agents`.

All loops read the same queue of the same broker: a bare consumer that does nothing with the
records, an agent whose handler does nothing, and an Exchange and an agent that answer each message.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import Callable

from bench.part import hand_over, options, progress
from bench.rows import Measurement
from bench.turns import MEASURED, Turn, by_turns, in_a_process, lasting_broker, rows_of
from streams.client import Exchange
from streams.kafka import Cluster, deploy
from streams.protocol import Header, Journey, Parties
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics
from streams.wire.records import queue_record

CONSUMER, AGENT = "a bare consumer", "an agent that says nothing"
EXCHANGE, ANSWERING = "an Exchange that answers", "an agent that answers"
LOOPS = (CONSUMER, AGENT, EXCHANGE, ANSWERING)
GROUP = "a service's queue on Kafka, 400-byte messages"
PLACE = ("ServerB", "DatabaseB")
QUEUE, SERVICE = "TargetQueue", "TargetService"
SLOW = {AGENT: 10, ANSWERING: 20, EXCHANGE: 5}
"""The divisor of the number of messages for slower loops, so that they end in time."""
DAY = 86_400_000


# --- one loop, in a process of its own -----------------------------------------------------------


def consumer(cluster: Cluster, count: int) -> tuple[float, float]:
    """Read this number of records without using them."""
    reading = cluster.consumer(f"bench.{uuid.uuid4()}", auto_offset_reset="earliest")
    # the client fetches far ahead of the requested records
    cpu, begun, done = time.process_time(), 0.0, 0
    reading.subscribe([cluster.topics.queue(*PLACE, QUEUE)])
    while done < count:
        batch = reading.consume(500, 0.05)
        begun = begun or (time.monotonic() if batch else 0.0)
        done += len(batch)
    took = time.process_time() - cpu, time.monotonic() - begun
    reading.close()
    return took


def exchange(cluster: Cluster, count: int) -> tuple[float, float]:
    """Answer each message, in transactions of the available messages."""
    name, done, begun = str(uuid.uuid4()), 0, (0.0, 0.0)
    with Exchange(cluster, *PLACE, QUEUE, f"bench.{name}", name=name) as queue:
        while done < count:
            messages = queue.receive(0.05)
            if messages and not done:
                begun = time.process_time(), time.monotonic()
            for message in messages:
                queue.send(message.conversation, message.body)
            queue.commit()
            done += len(messages)
        return time.process_time() - begun[0], time.monotonic() - begun[1]


def agent(cluster: Cluster, count: int, *, answers: bool) -> tuple[float, float]:
    """Let an agent handle this number of messages."""
    # imported here, so that other loops do not pay for it
    from streams.agents import Dialog, Received, hopline_app

    instance, database = PLACE
    app = hopline_app(
        f"bench-{uuid.uuid4()}",
        instance=instance,
        database=database,
        bootstrap=cluster.bootstrap,
        prefix=cluster.topics.prefix,
        web_enabled=False,
    )
    begun: list[float] = []
    ended, done = asyncio.Event(), 0

    @app.service(SERVICE)
    async def serve(dialog: Dialog, message: Received) -> None:
        nonlocal done
        if not done:
            begun.extend((time.process_time(), time.monotonic()))
        if answers:
            await dialog.send(message.body)
        done += 1
        if done == count:
            ended.set()

    async def until_done() -> tuple[float, float]:
        await app.start()
        await ended.wait()
        took = time.process_time() - begun[0], time.monotonic() - begun[1]
        await app.stop()
        return took

    return asyncio.run(until_done())


RUN: dict[str, Callable[[Cluster, int], tuple[float, float]]] = {
    CONSUMER: consumer,
    AGENT: lambda cluster, count: agent(cluster, count, answers=False),
    EXCHANGE: exchange,
    ANSWERING: lambda cluster, count: agent(cluster, count, answers=True),
}


# --- the table -----------------------------------------------------------------------------------


def fill(cluster: Cluster, count: int) -> None:
    """Write the messages of 100 dialogs that every loop reads, like an endpoint worker."""
    now, body = time.time_ns() // 1_000_000, os.urandom(400)
    parties = Parties(SERVICE, "DatabaseB", "InitiatorService", "DatabaseA", "DEFAULT", True)
    journey = Journey(16, now + DAY, 0, now, 0, (("ServerA", now),))
    producer, topic = cluster.producer(linger_ms=20), cluster.topics.queue(*PLACE, QUEUE)
    for n in range(count):
        dialog = uuid.UUID(int=n % 100)
        header = Header(uuid.UUID(int=n), "DEFAULT", n // 100, now, now + DAY)
        key, value, headers = queue_record(dialog, dialog, parties, header, journey, body)
        producer.produce(topic, key=key, value=value, headers=headers)  # type: ignore[arg-type]
        producer.poll(0)
    producer.flush()


def rows(turns: dict[str, list[Turn]]) -> list[Measurement]:
    """Return the agents' figures compared with those of the same work without Faust."""
    some = {key: MEASURED[key] for key in ("client", "rate")}
    return [
        *rows_of(turns, f"{GROUP}, {AGENT}", AGENT, CONSUMER, {}, some),
        *rows_of(turns, f"{GROUP}, {ANSWERING}", ANSWERING, EXCHANGE, {}, some),
    ]


def main() -> None:
    """Print the table, or run one loop."""
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--only", choices=LOOPS)
    parser.add_argument("--bootstrap", help="with --only: a broker with the messages")
    parser.add_argument("--prefix", default="bench.")
    given = parser.parse_args()
    if given.only:
        cluster = Cluster(given.bootstrap, Topics(given.prefix))
        print(json.dumps((*RUN[given.only](cluster, given.count), given.count)))
        return
    with lasting_broker() as broker:
        cluster = Cluster(broker.bootstrap, Topics(given.prefix))
        deploy(cluster, load(topologies_dir() / "two_brokers", time.time()))
        progress(f"{GROUP}: {given.count:,} messages")
        fill(cluster, given.count)
        pid = broker.data.recorded().pid  # type: ignore[union-attr]

        def run(loop: str, _: int) -> Turn:
            count = str(given.count // SLOW.get(loop, 1))
            arguments = ["--only", loop, "--bootstrap", broker.bootstrap, "--prefix", given.prefix,
                         "--count", count]  # fmt: skip
            return in_a_process("bench.kafka_agents", arguments, pid)

        turns = by_turns(LOOPS, given.rounds, run)
    hand_over(rows(turns), given)


if __name__ == "__main__":
    main()
