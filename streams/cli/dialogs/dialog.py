"""``hopline begin``, ``send``, ``end``, ``timer`` and ``move``: statements of an application."""

from __future__ import annotations

import sys
import uuid
from dataclasses import dataclass
from typing import Any

import click

from streams.cli.options.parameters import BROKER_ID, SERVICE
from streams.cli.options.renamed import RenamedOption
from streams.cli.options.statement import (
    answered,
    at_option,
    common_options,
    conversation_option,
    home_at,
    reached,
    target_option,
)
from streams.cli.options.together import together
from streams.cli.options.topology import ConversationId
from streams.client import Client, Conversation

_INTEGER = 2**31 - 1


def _lifetime(_: click.Context, __: click.Parameter, seconds: int | None) -> int | None:
    """Check the range of T-SQL's integer; the engine refuses values below 1 with error 8411."""
    if seconds is not None and not -_INTEGER - 1 <= seconds <= _INTEGER:
        raise click.BadParameter(f"{seconds} is not in the range 1<=x<={_INTEGER}.")
    return seconds


@dataclass(frozen=True, slots=True)
class BeginOptions:
    """The options of ``hopline begin``."""

    at: str
    from_service: str
    to_service: str
    broker: str | None
    contract: str | None
    lifetime: int | None
    related: uuid.UUID | None
    group_id: uuid.UUID | None
    timeout: float
    format_: str
    bootstrap: str
    prefix: str


@click.command()
@at_option
@click.option("--from", "from_service", required=True, type=SERVICE, help="Initiator service.")
@click.option("--to", "to_service", required=True, type=SERVICE, help="Target service.")
@click.option("--broker", type=BROKER_ID, help="Broker id of the target's database. [default: any]")
@click.option("--contract", metavar="NAME", help="Contract. [default: DEFAULT]")
@click.option(
    "--lifetime",
    metavar="SECONDS",
    type=int,
    callback=_lifetime,
    help="Lifetime of the dialog, at least 1. [default: 68 years]",
)
@click.option(
    "--related",
    type=ConversationId(),
    metavar="ID",
    help="Join the conversation group of this conversation.",
)
@click.option(
    "--conversation-group",
    "group_id",
    cls=RenamedOption,
    former="--group-id",
    type=ConversationId(),
    metavar="ID",
    help="Conversation group to join or create. [default: a new one]",
)
@common_options
@together(BeginOptions)
def begin(
    given: BeginOptions,
) -> None:
    """BEGIN DIALOG: print the conversation id of a new dialog.

    BEGIN DIALOG sends nothing over the network; the first SEND does. If the statement is
    refused, the command prints SQL Server's error number, and the exit code is 1. A target service
    that is not in the catalog causes a warning, not an error.

    One application at a time receives the messages of a conversation group. Give related
    dialogs the same --conversation-group, or name one of them with --related.
    """
    if given.related is not None and given.group_id is not None:
        raise click.UsageError("--related and --conversation-group cannot be combined.")
    cluster = reached(given.bootstrap, given.prefix, given.timeout)
    home, database = home_at(cluster, given.at, given.to_service)
    beside = None if given.related is None else Conversation(home, database, given.related)
    with Client(cluster, timeout=given.timeout) as client:
        made = client.new_id(beside)
        with answered(given.format_, made):
            client.begin(
                home,
                database,
                given.from_service,
                given.to_service,
                broker=given.broker,
                contract=given.contract,
                lifetime=given.lifetime,
                conversation=made,
                group=given.group_id,
                related=beside,
            )
    if given.format_ == "text":
        click.echo(str(made))


@click.command()
@at_option
@conversation_option
@target_option
@click.option("--type", "type_", metavar="NAME", help="Message type. [default: DEFAULT]")
@click.argument("body", required=False)
@click.option("--file", type=click.File("rb"), help="Read the body from this file.")
@common_options
def send(
    at: str,
    conversation: uuid.UUID,
    target: bool,
    type_: str | None,
    body: str | None,
    file: Any,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """SEND ON CONVERSATION: print the id of the message.

    BODY is the message in UTF-8; - reads it from standard input, '' sends an empty message. The
    result confirms that the message is in the transmission queue, not that it has arrived.
    """
    content = _body(body, file)
    cluster = reached(bootstrap, prefix, timeout)
    home, database = home_at(cluster, at)
    side = Conversation(home, database, conversation, not target)
    with (
        answered(format_, conversation) as answer,
        Client(cluster, timeout=timeout) as client,
    ):
        answer["message_id"] = str(client.send(side, content, type=type_, wait=True))
    if format_ == "text":
        click.echo(answer["message_id"])


@click.command()
@at_option
@conversation_option
@target_option
@click.option(
    "--error",
    type=(click.IntRange(1, _INTEGER), str),
    metavar="CODE TEXT",
    help="WITH ERROR: discard unacknowledged messages, and send the error to the other side.",
)
@click.option(
    "--cleanup",
    is_flag=True,
    help="WITH CLEANUP: remove the endpoint without notifying the other side.",
)
@common_options
def end(
    at: str,
    conversation: uuid.UUID,
    target: bool,
    error: tuple[int, str] | None,
    cleanup: bool,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """END CONVERSATION, optionally WITH ERROR or WITH CLEANUP."""
    if error is not None and cleanup:
        raise click.UsageError("--error and --cleanup cannot be combined.")
    cluster = reached(bootstrap, prefix, timeout)
    home, database = home_at(cluster, at)
    side = Conversation(home, database, conversation, not target)
    with answered(format_, conversation), Client(cluster, timeout=timeout) as client:
        client.end(side, error=error, cleanup=cleanup, wait=True)


@click.command()
@at_option
@conversation_option
@target_option
@click.argument("seconds", type=click.IntRange(1, _INTEGER))
@common_options
def timer(
    at: str,
    conversation: uuid.UUID,
    target: bool,
    seconds: int,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """BEGIN CONVERSATION TIMER: put a DialogTimer into this side's queue after SECONDS.

    Each side of a dialog has one timer; a new timer replaces it. The endpoint worker runs the timer
    even while no application receives. The timer survives restarts.
    """
    cluster = reached(bootstrap, prefix, timeout)
    home, database = home_at(cluster, at)
    side = Conversation(home, database, conversation, not target)
    with answered(format_, conversation), Client(cluster, timeout=timeout) as client:
        client.timer(side, seconds, wait=True)


@click.command()
@at_option
@conversation_option
@target_option
@click.option(
    "--conversation-group",
    "group_id",
    cls=RenamedOption,
    former="--group-id",
    required=True,
    type=ConversationId(),
    metavar="ID",
    help="Conversation group; a new GUID creates a group.",
)
@common_options
def move(
    at: str,
    conversation: uuid.UUID,
    target: bool,
    group_id: uuid.UUID,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """MOVE CONVERSATION: move this side of a dialog to another conversation group.

    One application at a time receives the messages of a conversation group. Messages that are
    already in the queue stay in the old group; later messages belong to the new group.
    """
    cluster = reached(bootstrap, prefix, timeout)
    home, database = home_at(cluster, at)
    side = Conversation(home, database, conversation, not target)
    with answered(format_, conversation), Client(cluster, timeout=timeout) as client:
        client.move(side, group_id, wait=True)


def _body(text: str | None, file: Any) -> bytes:
    if (text is None) == (file is None):
        raise click.UsageError("Give the message's BODY (- for standard input) or --file.")
    if file is not None:
        content: bytes = file.read()
        return content
    if text == "-":
        return sys.stdin.buffer.read()
    return (text or "").encode("utf-8", "surrogateescape")
