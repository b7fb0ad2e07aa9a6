"""Requests for routes within an endpoint's transactions (reference 2.5)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping

import pytest

from streams.chance import Chance
from streams.errors import Number
from streams.node import Endpoint, Transaction, catalog_of
from streams.node.endpoint import notices, route_requests
from streams.node.endpoint.timers import AT_ONCE
from streams.protocol import Command, CommandKind, Message, Request, Status, request_owner
from streams.routing import SYSTEM_SERVICE
from streams.topology import Topology, apply_sql

from .evidence import shows
from .harness import START
from .places import ASKING


class Nothing:
    """Bodies that nobody has to read again."""

    def commands(self, positions: Collection[int]) -> Mapping[int, Command]:
        raise AssertionError

    def messages(self, positions: Collection[int]) -> Mapping[int, Message]:
        raise AssertionError


class Recorded(Nothing):
    """Statements at their positions."""

    def __init__(self, said: list[Command]) -> None:
        self.said = said

    def commands(self, positions: Collection[int]) -> Mapping[int, Command]:
        return {position: self.said[position] for position in positions}


def asking(service: str = "New", broker: str | None = None) -> Status:
    """Return what a forwarder writes where a service has no route."""
    owner = request_owner("AW", service)
    return Status(owner, "AW", True, Number.WAITING_FOR_CONFIGURATION, 0, START, service, broker)


def commit(endpoint: Endpoint, tx: Transaction) -> list[Command]:
    """Commit a transaction; returns the commands that it has written."""
    tx.close()
    endpoint.merge(tx, -1)
    return tx.notices.said


def begin(endpoint: Endpoint) -> Transaction:
    return endpoint.begin(Nothing(), START)


def endpoint(of: Topology = ASKING) -> Endpoint:
    return Endpoint("Home", catalog_of(of, 1), new_id=Chance(1).guid)


@shows("N1")
def test_the_request_is_two_commands_in_the_same_transaction() -> None:
    """BEGIN and SEND go through ``cmd`` as anybody's do; the second question finds it open."""
    one = endpoint()
    tx = begin(one)
    tx.status(asking())
    tx.status(asking())
    opening, question = commit(one, tx)
    assert (opening.kind, question.kind) == (CommandKind.BEGIN, CommandKind.SEND)
    assert opening.from_service == SYSTEM_SERVICE
    assert opening.conversation == question.conversation
    assert one.requests["AW"].open(opening.conversation) is not None
    tx = begin(one)
    tx.status(asking())
    assert commit(one, tx) == []


def test_an_aborted_request_is_asked_again() -> None:
    """Nothing of it happened, so exactly one request is open afterwards."""
    one = endpoint()
    tx = begin(one)
    tx.status(asking())
    tx.close()
    one.abandon(tx)
    assert one.requests == {}
    tx = begin(one)
    tx.status(asking())
    opening, question = commit(one, tx)
    assert opening.conversation == question.conversation
    [request] = one.requests["AW"]
    assert (request.conversation, request.total) == (opening.conversation, 1)
    tx = begin(one)
    tx.status(asking())
    assert commit(one, tx) == []


def test_a_request_that_cannot_be_begun_has_ended() -> None:
    """The broker was turned off before the command was read: it may be asked again later."""
    one = endpoint()
    tx = begin(one)
    tx.status(asking())
    opening, question = commit(one, tx)
    off = apply_sql(ASKING, "Home", "AW", "ALTER DATABASE AW SET DISABLE_BROKER", START / 1000)
    one.switch(catalog_of(off, 2))
    tx = begin(one)
    tx.command(0, opening)
    tx.command(1, question)
    commit(one, tx)
    request = one.requests["AW"].get("New")
    assert request == Request("New", 1, 1, None, START + one.limits.retry_after(0))


def test_requests_that_ended_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Applications choose the names of services; an open request stays, however many there are."""
    monkeypatch.setattr(route_requests, "MOST_ENDED", 3)
    one, now, used = endpoint(), START, set[uuid.UUID]()

    def ask(*services: str) -> list[tuple[str, str]]:
        tx = one.begin(Nothing(), now)
        for service in services:
            tx.status(asking(service))
        used.update(opened := {c.conversation for c in commit(one, tx)})
        assert len(opened) == len(services)
        return tx.notices.forgotten

    def end(*services: str) -> list[tuple[str, str]]:
        tx = one.begin(Nothing(), now)
        for service in services:
            request = one.requests["AW"].get(service)
            assert request is not None and request.conversation is not None
            tx.notices._ended("AW", request.conversation)
        commit(one, tx)
        return tx.notices.forgotten

    names = [f"S{number}" for number in range(8)]
    assert ask("Open", *names) == end(*names) == []
    assert end() == []
    now += one.limits.retry_after(0) - 1
    assert ask("Other") == [], "the back-off of all is not over yet"
    now += 1
    assert ask("S0") == [("AW", f"S{number}") for number in (1, 2, 3, 4)]
    assert [r.service for r in one.requests["AW"]] == ["Open", "S5", "S6", "S7", "Other", "S0"]
    assert ask("S1", "S2", "S5") == []
    assert len(used) == 1 + 8 + 1 + 1 + 3, "no id is used again"


def test_the_conversation_lives_where_the_request_is_kept() -> None:
    """On several partitions its id is chosen so."""
    one = endpoint()
    one.fits = lambda conversation: conversation.int % 7 == 3
    for n in range(20):
        tx = begin(one)
        tx.status(asking(f"New{n}"))
        assert {c.conversation.int % 7 for c in commit(one, tx)} == {3}


def test_a_transaction_tries_so_many_ids_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """If none belongs to the partition, nobody is asked; a later retry asks again."""
    monkeypatch.setattr(notices, "MOST_IDS", 10)
    one, tried = endpoint(), list[uuid.UUID]()
    one.fits = lambda conversation: tried.append(conversation) or len(tried) > 15  # type: ignore[func-returns-value]
    tx = begin(one)
    for n in range(5):
        tx.status(asking(f"New{n}"))
    assert commit(one, tx) == [] and len(tried) == 10
    tx = begin(one)
    tx.status(asking("New0"))
    assert len(commit(one, tx)) == 2 and len(tried) == len(set(tried)) == 16


def test_who_has_no_such_database_asks_nobody() -> None:
    """A status may be older than the catalog."""
    one = endpoint()
    tx = begin(one)
    tx.status(Status(uuid.UUID(int=1), "Gone", True, 9770, 0, START, "New"))
    assert commit(one, tx) == []


def test_however_many_wait_they_look_again_in_parts() -> None:
    """When a request has ended, no transaction grows with the number of those who wait for it."""
    one, ids = endpoint(), [uuid.UUID(int=n + 1) for n in range(2 * AT_ONCE + 1)]
    tx = begin(one)
    tx.status(asking())
    opening, question = commit(one, tx)
    tx = begin(one)
    said = Recorded([opening, question, *map(begun, ids), *map(sent, ids)])
    for position, command in enumerate(said.said):
        tx.command(position, command)
    for conversation in ids:
        tx.status(Status(conversation, "AW", True, 9770, 0, START))
    commit(one, tx)
    tx = begin(one)
    end = Command(opening.conversation, uuid.UUID(int=0), CommandKind.END, "AW", cleanup=True)
    tx.command(9_999, end)
    commit(one, tx)
    parts = [len(tx.machines)]
    while one.has_probes:
        tx = one.begin(said, START)
        parts.append(len(tx.probed))
        commit(one, tx)
    assert parts == [1, AT_ONCE, AT_ONCE, 1]


def begun(conversation: uuid.UUID) -> Command:
    return Command(
        conversation,
        uuid.uuid5(conversation, "BEGIN"),
        CommandKind.BEGIN,
        "AW",
        from_service="Initiator",
        to_service="New",
    )


def sent(conversation: uuid.UUID) -> Command:
    return Command(conversation, uuid.uuid5(conversation, "SEND"), CommandKind.SEND, "AW", body=b"")
