"""The account of a real run: what is read back from Kafka is what was done."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from streams.client import Conversation, StatementError
from streams.report import Ending, EndpointKey, Facts, Fate, Missing, read_facts
from tests.endpoints import read_dialogs
from tests.running import System, eventually, running

INITIATOR = ("ServerA", "DatabaseA")
TARGET = ("ServerB", "DatabaseB")
SERVICES = ("InitiatorService", "TargetService")


@dataclass(frozen=True, slots=True)
class Run:
    """A run that is over, and its statements."""

    system: System
    dialog: Conversation
    sent: tuple[uuid.UUID, ...]
    discarded: Conversation
    expired: Conversation


@pytest.fixture(scope="module")
def run(kafka: str) -> Iterator[Run]:
    """Hold dialogs: in both directions, in error, expired and then ended, in flight, not begun."""
    with running(kafka, f"t{uuid.uuid4().hex[:12]}.", "two_brokers") as system:
        with system.client() as client:
            dialog = client.begin(*INITIATOR, *SERVICES)
            sent = tuple(client.send(dialog, b"%d" % n) for n in range(4))
            for message in system.received(*TARGET, "TargetQueue", 4):
                client.send(message.conversation, b"answer")
            system.received(*INITIATOR, "InitiatorQueue", 4)
            with pytest.raises(StatementError):  # refused, so it was never accepted
                client.send(dialog, b"x", type="no such type", wait=True)
            discarded = client.begin(*INITIATOR, *SERVICES)
            client.send(discarded, b"one")
            system.received(*TARGET, "TargetQueue", 1)
            client.end(discarded, error=(7, "no more"), wait=True)
            expired = client.begin(*INITIATOR, "InitiatorService", "NobodyService", lifetime=1)
            client.send(expired, b"too late", wait=True)
            [error] = system.received(*INITIATOR, "InitiatorQueue", 1)
            assert error.ends_dialog
            client.end(expired, wait=True)  # from ERROR to CLOSED
            waiting = client.begin(*INITIATOR, "InitiatorService", "NobodyService")
            client.send(waiting, b"into the void", wait=True)
            eventually(lambda: acknowledged(system, dialog) == {4}, "all is acknowledged")
            system.stop()
            unread = client.begin(*INITIATOR, *SERVICES, wait=False)
            client.send(unread, b"nobody has read this yet")
        yield Run(system, dialog, sent, discarded, expired)


def acknowledged(system: System, dialog: Conversation) -> set[int]:
    """Return how much of a dialog each of its sides knows to be stored."""
    return {
        endpoint.acknowledged[0]
        for instance in ("ServerA", "ServerB")
        for key, endpoint in read_dialogs(system.cluster, instance)
        if key[1] == dialog.id
    }


def facts(run: Run) -> Facts:
    return read_facts(run.system.cluster, run.system.topology)


@pytest.mark.long
def test_every_message_is_accounted_for(run: Run) -> None:
    found = facts(run)
    ledger = found.balance()
    assert ledger.verdict == "nothing lost"
    assert ledger.outcomes == {
        Fate.DELIVERED: 9,
        Fate.EXPIRED: 1,
        Fate.IN_TRANSMISSION_QUEUE: 1,
        Fate.UNREAD: 1,
    }
    assert ledger.locked == {"ServerB/DatabaseB": 2}
    place = "/".join(INITIATOR)
    assert found.end_kinds == {
        EndpointKey(place, run.discarded.id, True): Ending.WITH_ERROR,
        EndpointKey(place, run.expired.id, True): Ending.PLAIN,
    }
    assert found.ended[EndpointKey(place, run.expired.id, True)] == 8489, (
        "told before it is forgotten"
    )
    assert len(found.refused) == 1
    assert found.delays, "the message that waits has a number that says why"


def test_deliveries_have_time_and_path(run: Run) -> None:
    rows = [d for d in facts(run).delivered if d.conversation == run.dialog.id]
    outward = sorted((d for d in rows if d.from_initiator), key=lambda d: d.offset)
    assert [d.sequence for d in outward] == [0, 1, 2, 3]
    assert [d.message_id for d in outward] == list(run.sent)
    assert {d.path for d in outward} == {("ServerA", "ServerB", "ServerB/DatabaseB")}
    assert {d.place for d in rows if not d.from_initiator} == {"ServerA/DatabaseA"}
    assert all(-1_000 < d.latency_ms < 60_000 for d in rows), "by two clocks"


def test_a_message_that_is_hidden_is_found_missing(run: Run) -> None:
    """The account reports exactly the one message: the last of its dialog, too."""
    ledger = facts(run).hiding(run.sent[3]).balance()
    assert ledger.verdict == "1 lost"
    assert ledger.lost == [Missing(run.dialog.id, True, 3, run.sent[3])]


def test_hiding_what_does_not_exist_hides_nothing(run: Run) -> None:
    assert facts(run).hiding(uuid.uuid4()).balance().balanced
