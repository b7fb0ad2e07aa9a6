"""The cost of open, idle dialogs: `python -m bench.open_dialogs`.

This measures how long an endpoint worker takes to restore a million of them from a real Kafka, and
how much memory each needs; the baseline reads the same records and drops them. It also measures the
cost of a message while 1 k, 100 k and 1 M dialogs are open, on a thousand active dialogs and on
dialogs drawn from all, alternately; the baseline is the cost while 1 k are open.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence

from bench.endpoint import FROM, TO, Side, round_of
from bench.part import hand_over, options, progress
from bench.rows import NO_GROWTH, Measurement, Of, Unit, at_most
from bench.turns import lasting_broker, resident
from streams.kafka import Cluster, deploy, read_all, watermarks
from streams.node import Dialogs, Endpoint, catalog_of
from streams.protocol import Dialog, State
from streams.resources import topologies_dir
from streams.topology import Topology, load
from streams.wire import Topics
from streams.wire.state import Positions, encode_dialog, encode_positions, unpack_dialog
from streams.wire.state_keys import POSITIONS_KEY, StateKey, decode_key
from streams.workers.collector import collecting_rarely, keep
from streams.workers.endpoint.restore import Replay

SIZES = (1_000, 100_000, 1_000_000)
LIVELY, EACH = 1_000, 5
_SPREAD, _ALL = 0x9E3779B97F4A7C15F39CC0605CEDC835, (1 << 128) - 1  # ids like those of any dialogs
WEEK = 7 * 86_400_000
BACK, COST = "dialogs that are open, back from Kafka", "a message's CPU at the initiator, no Kafka"
GOAL_SECONDS, GOAL_BYTES = 60, 1_000
Record = tuple[bytes, bytes]
"""The key and value of a state record."""


def topology() -> Topology:
    """Return the endpoint that owns the dialogs."""
    return load(topologies_dir() / "forwarding_chain", time.time())


def conversation_of(number: int) -> uuid.UUID:
    """Return the id of an idle dialog."""
    return uuid.UUID(int=(number + 1) * _SPREAD & _ALL)


def idle_dialogs(count: int) -> Iterator[Record]:
    """Yield the initiator's state of open dialogs: begun within a week, and locked."""
    chance, instances, now = random.Random(count), topology().instances, int(time.time() * 1000)
    [here], [there] = (instances[name].databases.values() for name in ("SQL1", "SQL3"))
    for number in range(count):
        conversation = conversation_of(number)
        begun = now - chance.randrange(WEEK)
        dialog = Dialog(
            conversation=conversation,
            database=here.name,
            broker_id=here.broker_id,
            is_initiator=True,
            state=State.CO,
            service=FROM,
            far_service=TO,
            far_broker=there.broker_id,
            contract="DEFAULT",
            group=uuid.UUID(int=conversation.int ^ 1),
            handle=uuid.UUID(int=conversation.int ^ 2),
            created_at=begun,
            expires_at=begun + 2_147_483_647_000,
            locked=True,
            received=(chance.randrange(50), 0),
        )
        yield StateKey(here.name, conversation, True).encode(), encode_dialog(dialog)


def fill(cluster: Cluster, count: int) -> int:
    """Write the state of this number of dialogs; return its size in bytes."""
    topic, producer, size = cluster.topics.dialog("SQL1"), cluster.producer(linger_ms=20), 0
    for key, record in idle_dialogs(count):
        size += len(key) + len(record)
        while True:
            try:
                producer.produce(topic, record, key, 0)
                break
            except BufferError:
                producer.poll(0.1)
    producer.produce(topic, encode_positions(Positions()), POSITIONS_KEY, 0)
    assert producer.flush(300) == 0
    return size


def new_endpoint() -> Endpoint:
    """Return the empty state of an endpoint worker."""
    endpoint = Endpoint("SQL1", catalog_of(topology(), 1), dialogs=Dialogs(unpack_dialog))
    endpoint.advance(time.time_ns() // 1_000_000)
    return endpoint


# --- back from Kafka, in a process of its own ----------------------------------------------------


def restore(cluster: Cluster, count: int) -> tuple[float, float, float]:
    """Return the CPU seconds and the duration of restoring the state, and its bytes of memory."""
    with collecting_rarely():
        before, cpu, wall = resident(), time.process_time(), time.monotonic()
        topic = cluster.topics.dialog("SQL1")
        replay = Replay(cluster, topic, 0, new_endpoint(), lambda _: None, lambda: 0)
        aside = cluster.consumer("aside", isolation_level="read_uncommitted")
        replay.finish(watermarks(aside, topic, 0)[1])
        keep()
        cpu, wall = time.process_time() - cpu, time.monotonic() - wall
        replay.close()
        aside.close()
        assert len(replay.endpoint.dialogs) == count
        return cpu, wall, resident() - before


def read(cluster: Cluster) -> tuple[float, float, float]:
    """Read the state and drop it; return the same figures."""
    cpu, wall = time.process_time(), time.monotonic()
    for message in read_all(cluster, cluster.topics.dialog("SQL1"), 0):
        message.key(), message.value()
    return time.process_time() - cpu, time.monotonic() - wall, 0.0


def in_a_process(cluster: Cluster, count: int, what: str) -> tuple[float, float, float]:
    """Run one of the two in a new process."""
    arguments = ["--only", what, "--bootstrap", cluster.bootstrap, "--count", str(count)]
    command = [sys.executable, "-m", "bench.open_dialogs", *arguments]
    child = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    cpu, wall, size = json.loads(child.stdout.splitlines()[-1])
    progress(f"{BACK}: {what} {cpu:.2f} s of CPU, {wall:.2f} s, {size / count:.0f} bytes each")
    return cpu, wall, size


def back(count: int, rounds: int) -> list[Measurement]:
    """Return the time to restore this number of dialogs, and the memory for each."""
    with lasting_broker() as broker:
        cluster = Cluster(broker.bootstrap, Topics("bench."))
        deploy(cluster, topology())
        size = fill(cluster, count)
        found = [
            (in_a_process(cluster, count, "read"), in_a_process(cluster, count, "restore"))
            for _ in range(rounds)
        ]
    dropped, restored = (tuple(zip(*column, strict=True)) for column in zip(*found, strict=True))
    taken = tuple(value / count for value in restored[2])
    names, read_only = (f"{count:,} dialogs", "memory of each"), "read and dropped"
    quick = at_most(GOAL_SECONDS, Of.VALUE)
    return [
        Measurement(
            BACK, f"{names[0]}, CPU", Unit.SECONDS, restored[0], read_only, dropped[0], quick
        ),
        Measurement(
            BACK, f"{names[0]}, elapsed", Unit.SECONDS, restored[1], read_only, dropped[1], quick
        ),
        Measurement(
            BACK,
            names[1],
            Unit.BYTES,
            taken,
            "its key and record",
            (size / count,) * rounds,
            at_most(GOAL_BYTES, Of.VALUE),
        ),
    ]


# --- what a message costs ------------------------------------------------------------------------


class Case:
    """An endpoint worker with a number of open dialogs."""

    def __init__(self, cluster: Cluster, count: int) -> None:
        self.count = count
        self._one, self._other = Side("SQL1", cluster, None), Side("SQL3", cluster, None)
        self._chance = random.Random(count)
        endpoint = self._one.owned.endpoint = new_endpoint()
        for key, record in idle_dialogs(count):
            endpoint.load(decode_key(key).dialog, record)  # type: ignore[union-attr]

    def lively(self) -> float:
        """Return the CPU seconds for a message on recently used dialogs."""
        return self._cost(range(LIVELY))

    def drawn(self) -> float:
        """Return the CPU seconds for a message on dialogs drawn from all."""
        return self._cost(self._chance.sample(range(self.count), LIVELY))

    def _cost(self, numbers: Sequence[int]) -> float:
        ids = [conversation_of(number) for number in numbers]
        _, initiator, _ = round_of(self._one, self._other, ids, EACH)
        return initiator / (LIVELY * EACH)


def cost(sizes: Sequence[int], rounds: int, profile: cProfile.Profile | None) -> list[Measurement]:
    """Return the cost of a message among more dialogs, compared with the cost among the fewest."""
    cluster = Cluster("nowhere:1", Topics("bench."))
    cases = []
    for size in sizes:
        progress(f"{COST}: {size:,} open dialogs")
        cases.append(Case(cluster, size))
    found: dict[tuple[str, int], list[float]] = {}
    with collecting_rarely():
        for number in range(rounds + 1):  # the first round is a warm-up
            for case in cases if number % 2 else cases[::-1]:
                for name, measured in (("lively", case.lively), ("drawn from all", case.drawn)):
                    found.setdefault((name, case.count), []).append(measured())
        if profile is not None:
            with profile:
                cases[-1].drawn()
    base = {name: tuple(found[name, sizes[0]][1:]) for name in ("lively", "drawn from all")}
    return [
        Measurement(COST, f"{size:,} open, {name}", Unit.SECONDS, tuple(took[1:]),
            f"{sizes[0]:,} open", base[name], NO_GROWTH)
        for (name, size), took in sorted(found.items(), key=lambda item: item[0])
        if size != sizes[0]
    ]  # fmt: skip


def main() -> None:
    """Print the table, or run one part of it."""
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--part", choices=("back", "cost"), help="one of both")
    parser.add_argument("--profile", action="store_true", help="of messages among the most")
    parser.add_argument("--only", choices=("read", "restore"))
    parser.add_argument("--bootstrap", help="with --only: a broker with the records")
    parser.add_argument("--count", type=int, help="with --only: how many dialogs it has")
    given = parser.parse_args()
    if given.only:
        cluster = Cluster(given.bootstrap, Topics("bench."))
        print(json.dumps(read(cluster) if given.only == "read" else restore(cluster, given.count)))
        return
    profile = cProfile.Profile(time.thread_time) if given.profile else None
    rows: list[Measurement] = []
    if given.part != "back":
        rows += cost(given.sizes, given.rounds, profile)
    if given.part != "cost":
        rows += back(max(given.sizes), given.rounds)
    hand_over(rows, given)
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(30)


if __name__ == "__main__":
    main()
