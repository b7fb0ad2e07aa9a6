"""SIGKILL of applications and of the relay at random points: nothing is lost or repeated."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Engine

from streams.client import Conversation, Receiver
from streams.client import inbox as inbox_tables
from streams.client.outbox import METADATA, Outbox
from streams.kafka import AbortedError, Cluster, FencedError
from tests.faults import applications
from tests.faults.applications import ARRIVED, ORDERS, ROWS
from tests.faults.processes import Child
from tests.running import DEADLINE, System, running

AT_A, AT_B = ("ServerA", "DatabaseA"), ("ServerB", "DatabaseB")
SERVICES = ("InitiatorService", "TargetService")
ORDERED, DIALOGS, KILLS = 3_000, 60, 6
AHEAD = 400
"""Maximum number of messages in flight, so that every kill hits some."""


@pytest.mark.parametrize("error", [AbortedError("reassigned", "Again."), FencedError("fenced")])
def test_an_application_that_lost_its_messages_goes_on_with_a_new_reader(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    outcomes: list[Exception | None] = [error, None]

    def application(*_: object) -> None:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome

    monkeypatch.setitem(applications.APPLICATIONS, "source", application)
    applications.run("source", Cluster("127.0.0.1:1"))
    assert not outcomes


def options(system: System) -> tuple[str, str]:
    return system.cluster.bootstrap, system.cluster.topics.prefix


def kill_at(
    marks: list[tuple[int, Child]],
    progress: Callable[[], int],
    until: int,
    children: list[Child],
    seconds: float = 540,
) -> None:
    """Kill each child when the progress reaches its mark, and wait for the end."""
    deadline, pause, waiting = time.monotonic() + seconds, threading.Event(), list(marks)
    while (now := progress()) < until:
        assert time.monotonic() < deadline, f"{now} of {until} in {seconds:.0f} s"
        for child in children:
            child.check()
        if waiting and now >= waiting[0][0]:
            waiting.pop(0)[1].kill()
        pause.wait(0.01)
    assert not waiting, "the traffic was over before the last kill"


def marks_for(children: list[Child], until: int, seed: int) -> list[tuple[int, Child]]:
    """Draw the times of kills: each child KILLS times, at least a few messages apart."""
    chance = random.Random(seed)
    points = sorted(chance.sample(range(50, until - AHEAD - 50), KILLS * len(children)))
    victims = [child for child in children for _ in range(KILLS)]
    chance.shuffle(victims)
    return list(zip(points, victims, strict=True))


def what_is_wrong(
    got: Mapping[Any, list[int]], expected: Mapping[Any, range]
) -> dict[str, list[int]]:
    """Return the messages that were lost, that arrived twice, and that arrived out of order."""
    return {
        "lost": [n for key, wanted in expected.items() for n in wanted if n not in got[key]],
        "repeated": [
            n for found in got.values() for n, times in Counter(found).items() if times > 1
        ],
        "out of order": [
            later for found in got.values() for n, later in pairwise(found) if later < n
        ],
    }


# --- outbox and inbox ----------------------------------------------------------------------------


@contextmanager
def tables(url: str) -> Iterator[Engine]:
    """Recreate all tables."""
    engine = sa.create_engine(url)
    everything = (METADATA, inbox_tables.METADATA, ROWS)
    for made in everything:
        made.create_all(engine)
    yield engine
    for made in everything:
        made.drop_all(engine)
    engine.dispose()


def order(engine: Engine, arrived: Callable[[], int]) -> None:
    """Commit orders with their messages; every seventh transaction is rolled back."""
    dialogs: list[Conversation] = []
    pause = threading.Event()
    for number in range(ORDERED):
        while number - arrived() > AHEAD:
            pause.wait(0.01)
        dialog = number % DIALOGS
        for attempt in range(2 if number % 7 == 0 else 1):
            with engine.connect() as connection:
                outbox = Outbox(connection)
                begun = number >= DIALOGS
                handle = dialogs[dialog] if begun else outbox.begin(*AT_A, *SERVICES)
                connection.execute(ORDERS.insert().values(dialog=dialog, number=number))
                outbox.send(handle, b"%d/%d" % (dialog, number))
                if attempt == 0 and number % 7 == 0:
                    connection.rollback()
                else:
                    connection.commit()
        if number < DIALOGS:
            dialogs.append(handle)


@pytest.mark.long
def test_outbox_and_inbox_survive_kills_of_relay_and_receiver(
    kafka: str, unique: str, postgres: str, tmp_path: Path
) -> None:
    """Each committed order arrives in the target's table once, in its dialog's order."""
    with tables(postgres) as engine, running(kafka, unique, "two_brokers") as system:

        def arrived() -> int:
            system.check()
            with engine.connect() as connection:
                found = connection.execute(sa.select(sa.func.count()).select_from(ARRIVED))
                return int(found.scalar_one())

        relay = Child(
            tmp_path / "relay.log",
            *("streams", "outbox", "--store", postgres, "--poll", "0.01", *system.options),
        )
        receiver = Child(
            tmp_path / "receiver.log",
            *("tests.faults.applications", "inbox", *options(system), postgres),
        )
        children = [relay, receiver]
        sender = threading.Thread(target=order, args=(engine, arrived), daemon=True)
        try:
            sender.start()
            kill_at(marks_for(children, ORDERED, 20261121), arrived, ORDERED, children)
        finally:
            for child in children:
                child.stop()
        sender.join(DEADLINE)
        with engine.connect() as connection:
            rows = connection.execute(sa.select(ARRIVED).order_by(ARRIVED.c.id)).all()
            ordered = connection.execute(sa.select(ORDERS)).all()
    by_dialog: dict[int, list[int]] = defaultdict(list)
    for row in rows:
        by_dialog[row.dialog].append(row.number)
    assert len(ordered) == ORDERED
    told = what_is_wrong(by_dialog, {d: range(d, ORDERED, DIALOGS) for d in range(DIALOGS)})
    assert told == {"lost": [], "repeated": [], "out of order": []}


# --- receive, process, send ----------------------------------------------------------------------


@pytest.mark.long
def test_an_exchange_that_is_killed_answers_everything_once(
    kafka: str, unique: str, tmp_path: Path
) -> None:
    asked, dialogs = 2_000, 40
    with (
        running(kafka, unique, "two_brokers") as system,
        system.client() as client,
        Receiver(system.cluster, *AT_A, "InitiatorQueue", f"{unique}answers") as answers,
    ):
        child = Child(
            tmp_path / "exchange.log", "tests.faults.applications", "exchange", *options(system)
        )
        got: dict[object, list[int]] = defaultdict(list)
        handles = [client.begin(*AT_A, *SERVICES, wait=False) for _ in range(dialogs)]
        sent = 0

        def answered() -> int:
            nonlocal sent
            system.check()
            for message in answers.receive(0.02):
                got[message.conversation.id].append(int(message.body))
            answers.commit()
            total = sum(map(len, got.values()))
            while sent < min(asked, total + AHEAD):
                client.send(handles[sent % dialogs], b"%d" % sent)
                sent += 1
            return total

        try:
            kill_at(marks_for([child], asked, 20261122), answered, asked, [child])
        finally:
            child.stop()
        assert answers.receive(2) == ()
    told = what_is_wrong(got, {h.id: range(n, asked, dialogs) for n, h in enumerate(handles)})
    assert told == {"lost": [], "repeated": [], "out of order": []}
