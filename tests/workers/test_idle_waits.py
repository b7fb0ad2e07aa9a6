"""A worker with nothing to do waits longer for a record; one that has other work to come does not.

The longer wait costs no time where a record comes. Timers, retries, commits and copies that are
held in memory are looked after as often as ever.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from streams.node import Endpoint, TrimPoint, catalog_of
from streams.node.endpoint.dialogs import Kept
from streams.node.endpoint.flows import Flow
from streams.protocol import Limits
from streams.workers.endpoint import partition
from streams.workers.endpoint.allowance import Allowance
from streams.workers.endpoint.inputs import Bodies
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


# --- a partition ----------------------------------------------------------------------------------

NOW = 1_790_000_000_000
KEY = ("DatabaseA", uuid.UUID(int=1), True)


def idle(tmp_path: Path) -> Partition:
    """Return a partition in which nothing is to be done."""
    endpoint = Endpoint("A", catalog_of(pair(tmp_path), 1))
    bodies = cast(Bodies, None)  # nothing is read
    return Partition(0, endpoint, bodies, {"in": 0}, {}, Allowance(1_000))


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
    one.parked[KEY] = NOW + 60_000


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
