"""A worker with nothing to do waits longer for a record; one that has other work to come does not.

The longer wait costs no time where a record comes. Timers, retries, commits and copies that are
held in memory are looked after as often as ever.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from streams.kafka import Cluster, ReadStatistics, create
from streams.node import Endpoint, TrimPoint, catalog_of
from streams.node.endpoint.dialogs import Kept
from streams.node.endpoint.flows import Flow
from streams.protocol import Limits
from streams.wire import Topics
from streams.wire.specs import spec
from streams.workers.control.remote_watch import RemoteWatch
from streams.workers.endpoint import partition
from streams.workers.endpoint.allowance import Allowance
from streams.workers.endpoint.bodies import Bodies
from streams.workers.endpoint.look_ahead import LookAhead
from streams.workers.endpoint.partition import Partition
from streams.workers.forwarder import loop
from tests.workers.rig import Hook, Rig, Waits, eventually, pair, pause

PATIENT = Limits(retries=(60_000,))


def test_waits_differ() -> None:
    assert partition.POLL < partition.IDLE_POLL
    assert loop.POLL < loop.IDLE_POLL


def test_a_forwarder_waits_no_longer_before_all_is_committed(two: Rig) -> None:
    """What is not confirmed yet is looked after five times a second."""
    waits, control = Waits(), two.control("A", "B")
    two.endpoint("A", limits=PATIENT, control=control)
    forwarder = two.forwarder("A", control=control, hooks={"poll": waits})
    eventually(lambda: loop.IDLE_POLL in waits.seen or pause(), "it is idle")
    asked: list[int] = []

    def flush(real: Hook, timeout: float) -> Any:
        if timeout == loop.POLL:  # for the next batch
            return real(timeout)
        asked.append(1)
        return 1

    forwarder.hooks["flush"] = flush
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        client.send(dialog, b"nothing is confirmed", wait=True)
    eventually(lambda: bool(asked) or pause(), "it wants to commit")
    assert set(waits.next(10)) == {loop.POLL}
    del forwarder.hooks["flush"]
    eventually(lambda: waits.seen[-1] == loop.IDLE_POLL or pause(), "it is idle again")


@pytest.mark.long
def test_an_endpoint_waits_until_a_timer_is_due(two: Rig) -> None:
    """A retry is not late because the worker had nothing else to do."""
    waits = Waits()
    two.endpoint("A", limits=Limits(retries=(100,), recheck=100), hooks={"poll": waits})
    eventually(lambda: partition.IDLE_POLL in waits.seen or pause(), "it is idle")
    with two.client() as client:
        dialog = client.begin("A", "DatabaseA", "InitiatorService", "TargetService")
        client.send(dialog, b"nobody acknowledges", wait=True)
    assert max(waits.next(20)) <= 0.1


# --- an idle broker -------------------------------------------------------------------------------


@contextmanager
def idle_reader(two: Rig, role: str) -> Iterator[str]:
    """Run a worker or a watch of another cluster, without input; return its consumer's group."""
    if role != "watch":
        getattr(two, role)("A")
        yield f"{two.topics.prefix}{role}.A"
        return
    there = Cluster(two.cluster.bootstrap, Topics(f"{two.topics.prefix}there."))
    create(there, [spec(there.topics.presence, "presence")])
    watch = RemoteWatch("there", there, {"B"})
    try:
        yield f"{there.topics.prefix}control"
    finally:
        watch.stop()


@pytest.mark.long
@pytest.mark.parametrize("role", ["endpoint", "forwarder", "watch"])
def test_an_idle_broker_gets_few_fetches(
    two: Rig, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    """By the client's own clock and counter: two a second, instead of twenty."""
    monkeypatch.setattr("streams.kafka.cluster.STATISTICS_EVERY", 500)
    make = Cluster.consumer
    fetches: dict[str, list[tuple[float, int]]] = defaultdict(list)

    def consumer(self: Cluster, group: str, **config: Any) -> Any:
        read: ReadStatistics | None = config.get("stats")
        if read is None and role != "watch":  # which does without, as the brokers are not trusted
            return make(self, group, **config)

        def note(report: dict[str, Any]) -> None:
            if read is not None:
                read(report)
            sent = sum(broker["req"]["Fetch"] for broker in report["brokers"].values())
            if sent:
                fetches[group].append((report["ts"] / 1_000_000, sent))

        return make(self, group, **{**config, "stats": note})

    monkeypatch.setattr(Cluster, "consumer", consumer)
    with idle_reader(two, role) as group:
        eventually(lambda: len(fetches[group]) > 6 or two.check() or pause(), "seven reports")
    (begin, before), (end, after) = fetches[group][2], fetches[group][6]
    assert after - before <= 3 * (end - begin) + 1


# --- a partition ----------------------------------------------------------------------------------

NOW = 1_790_000_000_000
KEY = ("DatabaseA", uuid.UUID(int=1), True)


def idle(tmp_path: Path) -> Partition:
    """Return a partition in which nothing is to be done."""
    endpoint = Endpoint("A", catalog_of(pair(tmp_path), 1))
    bodies = cast(Bodies, None)  # nothing is read
    ahead = LookAhead(cast(Cluster, None), "in", 0)
    return Partition(0, endpoint, bodies, ahead, {"in": 0}, {}, Allowance(1_000))


@pytest.mark.parametrize(
    ("due", "seconds"), [(10_000, 0.25), (100, 0.1), (20, 0.05), (0, 0.05), (-5_000, 0.05)]
)
def test_the_wait_ends_when_a_timer_is_due(tmp_path: Path, due: int, seconds: float) -> None:
    """Within limits: timers that are due one after the other are applied together."""
    one = idle(tmp_path)
    assert one.wait(NOW) == partition.IDLE_POLL
    one.endpoint._timers.arm(Kept(KEY), NOW + due)
    assert one.wait(NOW) == seconds


def hold_a_statement(one: Partition) -> None:
    one.held_back = partition.HeldBack(0, "unknown schema", 0.0)


def have_a_backlog(one: Partition) -> None:
    one.backlog["in"] = 5


def park_a_dialog(one: Partition) -> None:
    one.postponed[KEY] = NOW + 60_000


def look_for_trim_points(one: Partition) -> None:
    one.endpoint.retention.begin(TrimPoint(0, 0, 0))


def probe(one: Partition) -> None:
    one.endpoint._probes[Kept(KEY)] = None


def wait_for_room(one: Partition) -> None:
    one.endpoint.flows._wanting["TargetService", ""] = Flow(
        ("TargetService", ""), lost={Kept(KEY): None}
    )


@pytest.mark.parametrize(
    "because",
    [hold_a_statement, have_a_backlog, park_a_dialog, look_for_trim_points, probe, wait_for_room],
)
def test_the_wait_is_short_where_time_alone_gives_work(
    tmp_path: Path, because: Callable[[Partition], None]
) -> None:
    one = idle(tmp_path)
    because(one)
    assert one.wait(NOW) == partition.POLL
