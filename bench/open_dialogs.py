"""What open dialogs cost: `python -m bench.open_dialogs`.

For 1 k, 100 k and 1 M dialogs that are open and idle: how long an endpoint worker takes to have its
state back from a real Kafka, how much memory each takes, and what a message costs then, on a
thousand dialogs of them and on dialogs drawn from all. Each size runs in a process of its own, by
turns; the baseline of the same run is the work on the messages' records without any dialog.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.endpoint import FROM, TO, Side, round_of
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
Row = dict[str, float]


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


def measure(cluster: Cluster, count: int) -> Row:
    """Have the state of ``count`` dialogs back, and send messages among them."""
    world = world_of(topology(), 1)
    one, other = Side("SQL1", cluster, None), Side("SQL3", cluster, None)
    found: Row = {}
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


def cost(one: Side, other: Side, name: str, rounds: Sequence[Sequence[uuid.UUID]]) -> Row:
    """Return microseconds per message at the initiator, and of the baseline; the first warms up."""
    took = [round_of(one, other, ids, EACH) for ids in rounds][1:]
    scale = 1e6 / (LIVELY * EACH)
    return {
        name: statistics.median(initiator for _, initiator, _ in took) * scale,
        f"{name} baseline": statistics.median(base for base, _, _ in took) * scale,
    }


def resident() -> int:
    """Return the bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


# --- the table -----------------------------------------------------------------------------------


def main() -> None:
    """Print the table, or measure one size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--bootstrap", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.size:
        topics = Topics(f"bench{given.size}.")
        print(json.dumps(measure(Cluster(given.bootstrap, topics), given.size)))
        return
    rows: dict[int, list[Row]] = {size: [] for size in given.sizes}
    with tempfile.TemporaryDirectory() as folder, Broker(Path(folder)) as broker:
        for size in given.sizes:
            cluster = Cluster(broker.bootstrap, Topics(f"bench{size}."))
            deploy(cluster, topology())
            fill(cluster, cluster.topics.dialog("SQL1"), size)
        for number in range(given.rounds):
            for size in given.sizes if number % 2 == 0 else reversed(given.sizes):
                rows[size].append(in_a_process(size, broker.bootstrap))
    table(rows)


def in_a_process(size: int, bootstrap: str) -> Row:
    """Measure one size in a process of its own."""
    command = ["-m", "bench.open_dialogs", "--size", str(size), "--bootstrap", bootstrap]
    child = subprocess.run(
        [sys.executable, *command], check=True, stdout=subprocess.PIPE, text=True
    )
    row: Row = json.loads(child.stdout.splitlines()[-1])
    print(size, {k: round(v, 2) for k, v in row.items()}, file=sys.stderr, flush=True)
    return row


def table(rows: dict[int, list[Row]]) -> None:
    """Print medians, and the spread of what is compared with the least number of dialogs."""
    print(f"{'open dialogs':<14}{'back after, CPU':>18}{'bytes each':>12}", end="")
    print(f"{'us/message, 1,000 lively':>38}{'us/message, drawn from all':>38}{'baseline':>24}")
    for size, found in rows.items():
        cells = [
            f"{size:<14,}",
            f"{_middle(found, 'wall'):.2f} s, {_middle(found, 'cpu'):.2f} s".rjust(18),
            f"{_middle(found, 'bytes'):,.0f}".rjust(12),
        ]
        for name, width in (("lively", 38), ("drawn", 38)):
            ratios = sorted(row[name] / row[f"{name} baseline"] for row in found)
            spread = f"{statistics.median(ratios):.1f} x, {ratios[0]:.1f}-{ratios[-1]:.1f}"
            cells.append(f"{_middle(found, name):.1f} ({spread})".rjust(width))
        base = sorted(row["lively baseline"] for row in found)
        cells.append(f"{statistics.median(base):.2f}, {base[0]:.2f}-{base[-1]:.2f}".rjust(24))
        print("".join(cells))


def _middle(found: Sequence[Row], name: str) -> float:
    return statistics.median(row[name] for row in found)


if __name__ == "__main__":
    main()
