"""Measure how a backlog drains after an absence: `python -m bench.kafka_backlog`.

SQL1 sends to SQL3 through the forwarder SQL2, each in its own process, on a real Kafka. This first
measures the steady rate, with a bounded number of messages in flight, and the latency of messages
on new dialogs, both under this load and on the idle system. Then a component is stopped, a backlog
is sent and accepted, and the component returns. `--absent` selects the component. The target (SQL3)
and the gateway (SQL2) count as returned at the first heartbeat of their forwarder. The target's
endpoint worker, whose forwarder continues, counts as returned when it is ready. The target's queue
is turned off and on. A sender has a bounded number of copies in flight, so while the endpoint
worker is absent, the backlog waits at the sender. With `frames`, the whole backlog waits in the
worker's input, as copies from many senders would. Without options, each component is absent once,
and the target twice: for 1,000 and for 100,000 dialogs. `--shares` selects how the messages are
distributed over the dialogs.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import accumulate, cycle, product
from random import Random

from bench.absences import ABSENCES, FRAMES
from bench.backlog import STILL, System
from bench.frames import write_frames
from bench.kafka_end_to_end import FROM, INSTANCES, TO, removed
from bench.part import hand_over, options, progress
from bench.rows import Goal, Measurement, Of, Unit, at_least, at_most
from bench.turns import lasting_broker
from bench.worker_processes import ENDPOINT, FORWARDER, TARGET, Growth, Workers
from streams.client import Client, Conversation
from streams.embedded import Broker
from streams.kafka import Cluster, deploy
from streams.resources import topologies_dir
from streams.topology import load
from streams.wire import Topics

STEADY_DIALOGS, IN_FLIGHT = 1_000, 20_000
STEADY_SECONDS, IDLE_SECONDS = 30.0, 10.0
STEADY, IDLE = "steady load", "idle system"
GOALS: dict[str, tuple[Unit, str, Goal | None]] = {
    "messages a second": (Unit.RATE, STEADY, at_least(0.7)),
    "first delivery": (Unit.SECONDS, STEADY, at_most(2, Of.VALUE)),
    "longest transaction": (Unit.SECONDS, STEADY, at_most(5, Of.VALUE)),
    "memory, largest growth of a process": (Unit.BYTES, STEADY, at_most(200e6, Of.VALUE)),
    "new dialogs, p95": (Unit.SECONDS, STEADY, at_most(3)),
    "new dialogs, p95 (idle)": (Unit.SECONDS, IDLE, at_most(3)),
}
"""The figures of a run, with their unit, baseline and goal."""
Figures = dict[str, float]


def steady(system: System) -> Figures:
    """Return the steady rate, and the latency of new dialogs at that rate."""
    dialogs = system.dialogs(STEADY_DIALOGS)

    def go_on(seconds: float) -> float:
        began, before = time.monotonic(), system.delivered
        while time.monotonic() < began + seconds:
            while system.sent - system.delivered < IN_FLIGHT:
                system.send(dialogs, len(dialogs))
            system.receive()
        return (system.delivered - before) / (time.monotonic() - began)

    go_on(STEADY_SECONDS / 3)
    system.probes.p95()
    rate = go_on(STEADY_SECONDS)
    p95 = system.probes.p95()
    system.drain(probing=False)
    return {
        "messages a second": rate,
        "new dialogs, p95": p95,
        "longest transaction": system.workers.longest_transaction[0],
    }


def idle(system: System) -> Figures:
    """Return the latency of new dialogs while nothing else is sent."""
    until = time.monotonic() + IDLE_SECONDS
    while time.monotonic() < until:
        system.receive()
    return {"new dialogs, p95 (idle)": system.probes.p95()}


def by_turns(dialogs: Sequence[Conversation]) -> Iterator[Conversation]:
    """Yield the dialog of each message, with equally many messages on each."""
    return cycle(dialogs)


def by_zipf(dialogs: Sequence[Conversation]) -> Iterator[Conversation]:
    """Yield the dialog of each message; the n-th dialog has 1/n of the first one's messages."""
    chance = Random(1)
    shares = list(accumulate(1 / number for number in range(1, len(dialogs) + 1)))
    while True:
        yield from chance.choices(dialogs, cum_weights=shares, k=1_000)


SHARES = {"even": by_turns, "zipf": by_zipf}


def drain(system: System, absent: str, count: int, dialogs: int, shares: str) -> Figures:
    """Stop a component, send a backlog, restart the component; return how the backlog drains."""
    workers, memory = system.workers, Growth(system.workers)
    leave, come_back = ABSENCES[absent]
    leave(system)
    began = time.monotonic()
    if absent == FRAMES:
        write_frames(system, dialogs, count)
    else:
        system.send(SHARES[shares](system.dialogs(dialogs)), count)
    # all earlier messages are accepted then
    system.client.begin("SQL1", "DatabaseA", FROM, TO, wait=True)
    longest, whose = workers.longest_transaction
    progress(
        f"  {count:,} messages accepted in {time.monotonic() - began:.0f} s; until then, the "
        f"longest transaction took {longest:.2f} s ({whose})"
    )
    memory.look()
    before = system.delivered
    returned = come_back(system)
    first = shown = 0.0
    still = time.monotonic()
    while system.delivered < system.sent:
        known = system.delivered
        system.receive()
        now = time.monotonic()
        if system.delivered > known:
            first, still = first or now, now
        if now > shown + 5:
            shown = now
            memory.look()
            progress(f"  {now - returned:5.0f} s: {system.delivered - before:,} delivered")
        if now > still + STILL:
            progress(
                f"  nothing more for {STILL:.0f} s: {system.sent - system.delivered:,} missing"
            )
            break
    rate = (system.delivered - before) / max(system.last - first, 1e-9)
    p95 = system.probes.p95()
    longest, whose = workers.longest_transaction
    progress(f"  the longest transaction took {longest:.2f} s ({whose})")
    progress(f"  {memory.whose} has grown most, by {memory.most / 1e6:.0f} MB")
    return {
        "messages a second": rate,
        "first delivery": first - returned,
        "longest transaction": longest,
        "memory, largest growth of a process": memory.most,
        "new dialogs, p95": p95,
        "new dialogs, p95 (idle)": p95,
    }


CASES = [("target", 1_000), ("target", 100_000), *product(list(ABSENCES)[1:], [1_000])]
"""The absent component, and the number of dialogs of the backlog."""


@contextmanager
def running(broker: Broker, pace: str, processes: Sequence[str]) -> Iterator[System]:
    """Run a separate system."""
    cluster = Cluster(broker.bootstrap, Topics(f"bench{uuid.uuid4().hex[:6]}."))
    with removed(cluster):
        deploy(cluster, load(topologies_dir() / "forwarding_chain", time.time()))
        with (
            closing(Workers(cluster, pace)) as workers,
            Client(cluster, timeout=600) as client,
            closing(System(cluster, workers, client)) as system,
        ):
            for name in processes:
                workers.start(name)
            yield system


def shown(what: str, figures: Figures) -> Figures:
    """Print the figures so far."""
    progress(f"{what}: " + ", ".join(f"{name} {value:.3g}" for name, value in figures.items()))
    return figures


def rows(group: str, found: Figures, base: Figures) -> list[Measurement]:
    """Return the figures of one backlog, compared with the baseline of the same run."""
    return [
        Measurement(
            group, what, unit, (found[what],), baseline, (base.get(what, found[what]),), goal
        )
        for what, (unit, baseline, goal) in GOALS.items()
    ]


def cases(absent: Sequence[str] | None, dialogs: Sequence[int] | None) -> list[tuple[str, int]]:
    """Return the absences and their numbers of dialogs; CASES has the defaults."""
    if absent is None and dialogs is None:
        return CASES
    return list(product(absent or ["target"], dialogs or [1_000]))


def main() -> None:
    """Print the table."""
    parser = options(__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--dialogs", type=int, nargs="+")
    parser.add_argument("--absent", choices=ABSENCES, nargs="+")
    parser.add_argument("--shares", choices=SHARES, nargs="+", default=["even"])
    parser.add_argument("--pace", choices=("latency", "throughput"), default="throughput")
    given = parser.parse_args()
    table: list[Measurement] = []
    with lasting_broker() as broker:
        for (absent, dialogs), shares in product(cases(given.absent, given.dialogs), given.shares):
            split = absent in ("worker", FRAMES)
            processes = [*INSTANCES[:-1], *([FORWARDER, ENDPOINT] if split else [TARGET])]
            with running(broker, given.pace, processes) as system:
                base = shown(STEADY, steady(system)) | shown(IDLE, idle(system))
                what = f"{absent} absent, {given.messages:,} messages on {dialogs:,} dialogs"
                what += ", shared by Zipf's law" if shares == "zipf" else ""
                found = shown(what, drain(system, absent, given.messages, dialogs, shares))
                table += rows(f"{what}, pace {given.pace}", found, base)
    hand_over(table, given)


if __name__ == "__main__":
    main()
