"""What says statements, however they are handed over: a client, an exchange, an outbox."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from streams.client import Client, Conversation, Statements
from streams.client.outbox import Outbox
from streams.errors import UsageError
from streams.protocol import Command, CommandKind

ABOUT = ("ServerA", "DatabaseA", "InitiatorService", "TargetService")


class Recorded(Statements):
    """Statements that are handed over to nobody."""

    def __init__(self) -> None:
        self.commands: list[tuple[Command, bool]] = []

    def perform(self, instance: str, command: Command, *, wait: bool = False) -> None:
        self.commands.append((command, wait))


class Waiting(Recorded):
    """Such that wait for a BEGIN, as a client does."""

    BEGIN_WAITS = Client.BEGIN_WAITS


def test_begin_states_what_it_was_given() -> None:
    said, group, id = Recorded(), uuid.uuid4(), uuid.uuid4()
    dialog = said.begin(*ABOUT, broker="B", contract="C", lifetime=60, group=group, conversation=id)
    [(command, wait)] = said.commands
    assert dialog == Conversation("ServerA", "DatabaseA", id) and not wait
    assert (command.kind, command.conversation) == (CommandKind.BEGIN, id)
    assert (command.to_broker, command.contract, command.lifetime) == ("B", "C", 60)
    assert (command.group, command.related) == (group, None)


@pytest.mark.parametrize(("given", "waits"), [({}, True), ({"wait": False}, False)])
def test_a_client_waits_for_a_begin_unless_told_otherwise(
    given: dict[str, Any], waits: bool
) -> None:
    said = Waiting()
    dialog = said.begin(*ABOUT, **given)
    said.send(dialog, b"x")
    said.timer(dialog, 5, wait=True)
    assert [wait for _, wait in said.commands] == [waits, False, True]


def test_only_a_client_begins_a_related_dialog() -> None:
    said = Recorded()
    dialog = said.begin(*ABOUT)
    with pytest.raises(UsageError, match="related to another one"):
        said.begin(*ABOUT, related=dialog)


def test_nobody_waits_for_what_a_transaction_has_yet_to_commit() -> None:
    outbox = Outbox(None)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="applied after the commit"):
        outbox.begin(*ABOUT, wait=True)
