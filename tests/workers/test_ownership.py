"""Who works for a mirrored pair: the one that has the role, and nobody who had it before."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streams.client import Conversation
from streams.kafka import change_for, publish, read_catalog
from streams.node import CatalogView, catalog_of
from streams.protocol import Limits
from streams.resources import topologies_dir
from streams.topology import failover, load
from streams.workers import Control, FencedError
from streams.workers.ownership import PairOwnership
from tests.running import DEADLINE
from tests.workers.rig import Gate, Hook, Rig, Running, eventually, pause, rig

PAIR = ("Orders", "Orders")
PATIENT = Limits(retries=(60_000,))
TOPOLOGY = load(topologies_dir() / "mirrored", 0.0)
FIRST = catalog_of(TOPOLOGY, 1)
SECOND = catalog_of(failover(TOPOLOGY, "Orders", "Partner2"), 2)
THIRD = catalog_of(failover(failover(TOPOLOGY, "Orders", "Partner2"), "Orders", "Partner1"), 3)


# --- by the catalog alone ------------------------------------------------------------------------


class FixedControl:
    """A control that shows one version of the catalog until somebody asks for its end."""

    def __init__(self, catalog: CatalogView, newest: CatalogView) -> None:
        self.catalog, self._newest, self.asked = catalog, newest, 0

    def catch_up(self, _: float) -> None:
        self.asked += 1
        self.catalog = self._newest


def begun(
    reported: FixedControl, instance: str = "Partner1"
) -> tuple[PairOwnership, SimpleNamespace]:
    """Return a tenure that has begun, and its clock."""
    clock = SimpleNamespace(now=0.0)
    tenure = PairOwnership(cast(Control, reported), instance, "Orders", lambda: clock.now)
    assert tenure.begins(threading.Event())
    return tenure, clock


def test_a_mirror_waits_and_lacks_nothing() -> None:
    """It is ready: there is nothing for it to do."""
    tenure = PairOwnership(cast(Control, FixedControl(FIRST, FIRST)), "Partner2", "Orders")
    stopped = threading.Event()
    stopped.set()
    assert not tenure.begins(stopped)
    assert tenure.is_served
    assert (tenure.home, str(tenure), tenure.of) == (
        *("Orders", "Partner2/Orders", " of the pair Orders"),
    )


def test_it_lasts_for_one_epoch() -> None:
    """Who has the role again has it anew: others have committed meanwhile."""
    reported = FixedControl(FIRST, FIRST)
    tenure, _ = begun(reported)
    assert tenure.lasts and not tenure.is_served
    for catalog in (SECOND, THIRD):
        reported.catalog = catalog
        assert not tenure.lasts


def test_who_has_slept_asks_before_it_goes_on() -> None:
    """What it knows of the catalog may be as old as its sleep."""
    reported = FixedControl(FIRST, SECOND)
    tenure, clock = begun(reported)
    clock.now += 0.9
    assert tenure.confirm_awake() and not reported.asked
    clock.now += 1.1
    assert not tenure.confirm_awake() and reported.asked


def test_an_instances_own_worker_always_works_and_never_asks() -> None:
    """It sees everything but what is the pair's."""
    reported = FixedControl(FIRST, SECOND)
    tenure = PairOwnership(cast(Control, reported), "Partner1")
    assert tenure.begins(threading.Event()) and tenure.confirm() and tenure.confirm_awake()
    assert not reported.asked
    assert set(tenure.catalog().instances["Partner1"].databases) == {"msdb"}
    assert tenure.catalog() is tenure.catalog()
    mirrored, _ = begun(reported)
    assert set(mirrored.catalog().instances["Partner1"].databases) == {"Orders"}


# --- on Kafka ------------------------------------------------------------------------------------


@pytest.fixture
def partners(kafka: str, unique: str) -> Iterator[Rig]:
    """Return the mirrored topology, in which nothing runs yet."""
    with rig(kafka, unique, load(topologies_dir() / "mirrored", time.time())) as made:
        yield made


class Lagging:
    """A control that has read the catalog when it was made, until somebody asks for its end."""

    def __init__(self, control: Control) -> None:
        self._control, self.catalog = control, control.catalog

    def catch_up(self, since: float) -> None:
        self._control.catch_up(since)
        self.catalog = self._control.catalog

    def __getattr__(self, name: str) -> Any:
        return getattr(self._control, name)


def worker(partners: Rig, instance: str, **hooks: Any) -> Running:
    """Start what serves the pair at a partner, with a catalog of its own."""
    control = partners.control(instance)
    return partners.endpoint(instance, pair="Orders", limits=PATIENT, control=control, hooks=hooks)


def begin(partners: Rig) -> Conversation:
    with partners.client() as client:
        return client.begin(*PAIR, "OrderParts", "InitiatorService")


def send(partners: Rig, dialog: Conversation, body: bytes, *, wait: bool = False) -> None:
    with partners.client() as client:
        client.send(dialog, body, wait=wait)


def move(partners: Rig, to: str) -> None:
    state = read_catalog(partners.cluster)
    assert state.topology is not None
    moved = failover(state.topology, "Orders", to)
    publish(partners.cluster, moved, change_for(state, moved))


def sent(partners: Rig) -> list[bytes | None]:
    return [m.value() for m in partners.records(partners.topics.out("Orders"))]  # type: ignore[misc]


@pytest.mark.long
@pytest.mark.parametrize(
    "where", ["begin_transaction", "send_offsets_to_transaction", "commit_transaction"]
)
def test_the_old_principal_commits_nothing_when_it_goes_on(
    partners: Rig, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stands before, in or at the end of a transaction while the role moves, and back again."""
    monkeypatch.setattr("streams.kafka.patience.FIRST", DEADLINE)  # it is asleep, and not stuck
    monkeypatch.setattr("streams.kafka.patience.LONGEST", DEADLINE)
    first = worker(partners, "Partner1")
    dialog = begin(partners)
    gate = Gate()
    first.hooks[where] = gate
    send(partners, dialog, b"one")
    gate.wait()
    before = first.worker.committed  # it counts after the commit, which the client may see before
    move(partners, "Partner2")
    second = worker(partners, "Partner2")
    partners.until(partners.topics.out("Orders"), 1)
    gate.open()
    send(partners, dialog, b"two", wait=True)
    assert sent(partners) == [b"one", b"two"]
    assert first.worker.committed == before
    assert (first.failure, second.failure) == (None, None)
    move(partners, "Partner1")
    send(partners, dialog, b"three", wait=True)
    eventually(lambda: first.worker.committed > before or pause(), "the first to have it back")
    assert sent(partners) == [b"one", b"two", b"three"]


@pytest.mark.long
def test_who_fences_its_successor_by_mistake_does_nothing_else(
    partners: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It read the catalog, missed a failover, and took the slot when it went on."""
    monkeypatch.setattr("streams.workers.ownership._SLEPT", 1_000.0)
    gate, taken = Gate(), threading.Event()

    def late(method: Hook, *args: Any) -> None:
        gate.hold()
        method(*args)
        taken.set()

    lagging = cast(Control, Lagging(partners.control("Partner1")))
    first = partners.endpoint(
        "Partner1", pair="Orders", control=lagging, hooks={"init_transactions": late}
    )
    gate.wait()
    move(partners, "Partner2")
    second = worker(partners, "Partner2")
    dialog = begin(partners)
    gate.open()
    assert taken.wait(DEADLINE)
    send(partners, dialog, b"one")
    assert isinstance(second.ended(), FencedError), "what keeps it starts it again"
    partners.running.remove(second)
    worker(partners, "Partner2")
    send(partners, dialog, b"two", wait=True)
    assert sent(partners) == [b"one", b"two"]
    assert (first.worker.committed, first.failure) == (0, None)
