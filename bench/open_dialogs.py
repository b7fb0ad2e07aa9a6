"""What open dialogs cost: `python -m bench.open_dialogs`.

For 1 k, 100 k and 1 M dialogs that are open and idle: how long an endpoint worker takes to have its
state back from a real Kafka, how much memory each takes, and what a message costs then, on a
thousand dialogs of them and on dialogs drawn from all. Each size runs in a process of its own, by
turns; the baseline of the same rounds is the smallest size.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from bench.endpoint import FROM, TO, Side, round_of
from bench.part import hand_over, options
from bench.rows import NO_GROWTH, Goal, Of, Row, Unit, at_most
from bench.turns import Turn, by_turns, resident
from streams.embedded import Broker
from streams.kafka import Cluster, deploy, watermarks
from streams.node import Dialogs, Endpoint, world_of
from streams.protocol import Dialog, State
from streams.resources import topologies_dir
from streams.topology import Topology, load
from streams.wire import Topics
from streams.wire.state import (
    POSITIONS_KEY,
    Positions,
    StateKey,
    encode_dialog,
    encode_positions,
    unpack_dialog,
)
from streams.workers.collector import collecting_rarely, keep
from streams.workers.restore import Replay

SIZES = (1_000, 100_000, 1_000_000)
LIVELY, EACH, ROUNDS = 1_000, 5, 5
AGE = 7 * 86_400_000
MILLION = 1_000_000
IN_A_MINUTE, A_KILOBYTE = at_most(60, Of.VALUE), at_most(1_000, Of.VALUE)


def idle_dialogs(count: int, now: int) -> Iterator[Dialog]:
    """Yield dialogs at the initiator that were begun within a week, locked, and left open."""
    chance, instances = random.Random(count), topology().instances
    [here], [there] = (instances[name].databases.values() for name in ("SQL1", "SQL3"))
    for number in range(count):
        conversation = conversation_of(number)
        begun = now - chance.randrange(AGE)
        yield Dialog(
            conversation=conversation,
            database=here.name,
            broker_id=here.broker_id,
            is_initiator=True,
            state=State.CO,
            service=FROM,
            far_service=TO,
            far_broker=there.broker_id,
            contract="DEFAULT",
            group=uuid.uuid5(conversation, "group"),
            handle=uuid.uuid5(conversation, "handle"),
            created_at=begun,
            expires_at=begun + 2_147_483_647_000,
            locked=True,
        )


def topology() -> Topology:
    """Return what the dialogs live in."""
    return load(topologies_dir() / "forwarding_chain", time.time())


def conversation_of(number: int) -> uuid.UUID:
    """Return the id of an idle dialog."""
    return uuid.UUID(int=random.Random(number).getrandbits(128))


def fill(cluster: Cluster, topic: str, count: int) -> None:
    """Write the state of so many dialogs."""
    producer = cluster.producer(linger_ms=20)
    for dialog in idle_dialogs(count, time.time_ns() // 1_000_000):
        key = StateKey(dialog.database, dialog.conversation, dialog.is_initiator).encode()
        while True:
            try:
                producer.produce(topic, encode_dialog(dialog), key, 0)
                break
            except BufferError:
                producer.poll(0.1)
    producer.produce(topic, encode_positions(Positions()), POSITIONS_KEY, 0)
    assert producer.flush(120) == 0


# --- one size, in a process of its own -----------------------------------------------------------


def measure(cluster: Cluster, count: int) -> Turn:
    """Have the state of ``count`` dialogs back, and send messages among them."""
    world = world_of(topology(), 1)
    one, other = Side("SQL1", cluster, None), Side("SQL3", cluster, None)
    found: Turn = {}
    with collecting_rarely():
        before, cpu, wall = resident(), time.process_time(), time.monotonic()
        endpoint = Endpoint("SQL1", world, dialogs=Dialogs(unpack_dialog))
        endpoint.tell(time.time_ns() // 1_000_000)
        topic = cluster.topics.dialog("SQL1")
        replay = Replay(cluster, topic, 0, endpoint, lambda _: None)
        aside = cluster.consumer("aside", isolation_level="read_uncommitted")
        replay.finish(watermarks(aside, topic, 0)[1])
        keep()
        found |= {"cpu": time.process_time() - cpu, "wall": time.monotonic() - wall}
        replay.close()
        aside.close()
        found["bytes"] = (resident() - before) / count
        assert len(endpoint.dialogs) == count
        one.owned.endpoint = endpoint
        lively = [conversation_of(number) for number in range(LIVELY)]
        found |= cost(one, other, "lively", [lively] * (ROUNDS + 1))
        chance = random.Random(count)
        drawn = [
            [conversation_of(n) for n in chance.sample(range(count), LIVELY)]
            for _ in range(ROUNDS + 1)
        ]
        found |= cost(one, other, "drawn", drawn)
    return found


def cost(one: Side, other: Side, name: str, rounds: Sequence[Sequence[uuid.UUID]]) -> Turn:
    """Return seconds per message at the initiator; the first round warms up."""
    took = [round_of(one, other, ids, EACH) for ids in rounds][1:]
    return {name: median(initiator for _, initiator, _ in took) / (LIVELY * EACH)}


# --- the table -----------------------------------------------------------------------------------


def rows_of(turns: dict[int, list[Turn]]) -> list[Row]:
    """Return every size beside the smallest."""
    least, *more = turns
    return [
        row(turns, size, least, key, what, unit, goal)
        for size in more
        for key, what, unit, goal in (
            ("lively", "message, 1,000 of them lively", Unit.SECONDS, NO_GROWTH),
            ("drawn", "message, dialogs drawn from all", Unit.SECONDS, NO_GROWTH),
            ("cpu", "state back, CPU", Unit.SECONDS, IN_A_MINUTE if size == MILLION else None),
            ("wall", "state back, time", Unit.SECONDS, None),
            ("bytes", "memory of a dialog", Unit.BYTES, A_KILOBYTE if size == MILLION else None),
        )
    ]


def row(turns: dict[int, list[Turn]], size: int, least: int, key: str, what: str, unit: Unit,
        goal: Goal | None) -> Row:  # fmt: skip
    """Return what was measured in one size beside another."""
    found, base = (tuple(turn[key] for turn in turns[n]) for n in (size, least))
    return Row(f"{size:,} open dialogs", what, unit, found, f"{least:,} open dialogs", base, goal)


def main() -> None:
    """Print the table, or measure one size."""
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--size", type=int, help="measure this one, in this process")
    parser.add_argument("--bootstrap", help="with --size: a broker with the dialogs")
    given = parser.parse_args()
    if given.size:
        topics = Topics(f"bench{given.size}.")
        print(json.dumps(measure(Cluster(given.bootstrap, topics), given.size)))
        return
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder)) as broker:
        for size in given.sizes:
            cluster = Cluster(broker.bootstrap, Topics(f"bench{size}."))
            deploy(cluster, topology())
            fill(cluster, cluster.topics.dialog("SQL1"), size)
        turns = by_turns(
            [str(size) for size in given.sizes],
            given.rounds,
            lambda size, _: in_a_process(size, broker.bootstrap),
        )
    hand_over(rows_of({int(size): found for size, found in turns.items()}), given)


def in_a_process(size: str, bootstrap: str) -> Turn:
    """Measure one size in a process of its own."""
    command = ["-m", "bench.open_dialogs", "--size", size, "--bootstrap", bootstrap]
    child = subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.PIPE, text=True
    )
    found: Turn = json.loads(child.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
