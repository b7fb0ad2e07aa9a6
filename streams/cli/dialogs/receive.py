"""``hopline receive``: RECEIVE, and print the messages."""

from __future__ import annotations

import json
import sys
import uuid
from dataclasses import dataclass

import click

from streams.analysis.places import unknown
from streams.cli.exit_codes import NOT_OK
from streams.cli.options.answer import format_option
from streams.cli.options.begin import begin_of, begin_option
from streams.cli.options.parameters import SECONDS
from streams.cli.options.shared import cluster_options
from streams.cli.options.statement import at_option, database_at, reached, target_option
from streams.cli.options.together import together
from streams.cli.options.topology import ConversationId
from streams.cli.text.records import content_text
from streams.client import Client, Conversation, Received, Receiver, StatementError
from streams.topology import Database, Instance, home_of, queue_named, queues_of
from streams.wire import MalformedError
from streams.wire.plain import body_of

_WAIT = 10.0
"""Seconds to wait for the remaining messages up to --limit."""
_WAIT_FOR_KAFKA = 10.0
"""Minimum number of seconds to wait for Kafka."""


@dataclass(frozen=True, slots=True)
class ReceiveOptions:
    """The options of ``hopline receive``."""

    at: str
    queue: str
    group: str
    begin: tuple[str, ...]
    limit: int | None
    top: int
    conversation: uuid.UUID | None
    target: bool
    conversation_group: uuid.UUID | None
    next_group: bool
    timeout: float | None
    end_when_ended: bool
    format_: str
    bootstrap: str
    prefix: str


@click.command()
@at_option
@click.option("--queue", required=True, metavar="QUEUE", help="Queue to read.")
@click.option(
    "--group",
    required=True,
    metavar="NAME",
    help="Consumer group; each group gets each message once.",
)
@begin_option
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), help="Stop after this many messages."
)
@click.option(
    "--top",
    metavar="N",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="TOP: maximum number of messages of a conversation group to print and commit at a time.",
)
@click.option(
    "--conversation", type=ConversationId(), metavar="ID", help="WHERE: only this conversation."
)
@target_option
@click.option(
    "--conversation-group",
    type=ConversationId(),
    metavar="ID",
    help="WHERE: only this conversation group.",
)
@click.option(
    "--next-group",
    is_flag=True,
    help="GET CONVERSATION GROUP: print the id of the next group without receiving messages.",
)
@click.option(
    "--timeout",
    type=SECONDS,
    help="Seconds to wait for the next message (WAITFOR). [default: 10 with --limit, otherwise "
    "none]",
)
@click.option(
    "--end-when-ended",
    is_flag=True,
    help="END CONVERSATION for dialogs that the other side has ended.",
)
@format_option()
@cluster_options
@click.pass_context
@together(ReceiveOptions)
def receive(
    ctx: click.Context,
    given: ReceiveOptions,
) -> None:
    """RECEIVE: print messages from a queue.

    The command returns as soon as it has read all committed messages of the queue. With --limit
    or --timeout it waits for more, like WAITFOR (RECEIVE ...).

    Printed messages are committed for the group and are not received again. Bodies are printed
    completely: as text if they are UTF-8, otherwise as hexadecimal digits. The conversation group
    with the highest priority comes first, and within it the conversation with the highest priority.
    If the queue is off, the error is 9617.

    A group that has never received starts at the beginning of the queue. If Kafka has deleted
    the offset of a group (after a week without members), the command refuses to receive
    everything again; --begin sets where the group continues.
    """
    if given.conversation is not None and given.conversation_group is not None:
        raise click.UsageError("--conversation and --conversation-group cannot be combined.")
    if given.next_group and (
        given.conversation or given.conversation_group or given.limit or given.end_when_ended
    ):
        raise click.UsageError("--next-group cannot be combined with options about messages.")
    if given.target and given.conversation is None:
        raise click.UsageError("--target needs --conversation.")
    start = begin_of(given.begin)
    wait = _WAIT if given.timeout is None and given.limit is not None else given.timeout
    cluster = reached(given.bootstrap, given.prefix, max(wait or 0.0, _WAIT_FOR_KAFKA))
    instance, database = database_at(cluster, given.at)
    name, home = _queue(instance, database, given.queue), home_of(instance.name, database)
    side = None
    if given.conversation is not None:
        side = Conversation(home, database.name, given.conversation, not given.target)
    if given.next_group:
        with Receiver(cluster, home, database.name, name, given.group, begin=start) as receiver:
            _show_group(receiver.get_conversation_group(wait), given.format_)
        return
    broken = 0
    with (
        Receiver(cluster, home, database.name, name, given.group, begin=start) as receiver,
        Client(cluster) as client,
    ):
        left = given.limit
        while left is None or left > 0:
            try:
                received = receiver.receive(
                    wait,
                    given.top if left is None else min(given.top, left),
                    conversation=side,
                    group=given.conversation_group,
                )
            except MalformedError as error:
                broken += 1
                click.echo(f"hopline: {error}", err=True)
                receiver.commit()
                continue
            if not received:
                break
            for message in received:
                _show(message, given.format_)
                if given.end_when_ended and message.ends_dialog:
                    _end_here(client, message)
            sys.stdout.flush()
            receiver.commit()
            left = None if left is None else left - len(received)
    ctx.exit(NOT_OK if broken else 0)


def _end_here(client: Client, message: Received) -> None:
    """End our side, unless it has ended already because the message is a redelivery."""
    try:
        client.end(message.conversation, wait=True)
    except StatementError as error:
        click.echo(f"hopline: {message.conversation.id}: {error}", err=True)


def _show(message: Received, format_: str) -> None:
    header, parties = message.frame.header, message.frame.parties
    if format_ == "text":
        # Never shortened, because a printed message is not redelivered.
        text = content_text(header.type, body_of(message.body), sys.maxsize)
        click.echo(f"{message.conversation.id}  {header.sequence:>4}  {text}")
        return
    record = {
        "conversation": str(message.conversation.id),
        "target": not message.conversation.is_initiator,
        "type": header.type,
        "sequence": header.sequence,
        "message_id": str(header.message_id),
        "from_service": parties.from_service,
        "from_broker": parties.from_broker,
        "contract": parties.contract,
        "enqueued_at": header.enqueued_at,
        "body": body_of(message.body),
    }
    click.echo(json.dumps(record, ensure_ascii=False))


def _show_group(group: uuid.UUID | None, format_: str) -> None:
    if group is not None:
        click.echo(json.dumps({"conversation_group": str(group)}) if format_ == "json" else group)


def _queue(instance: Instance, database: Database, name: str) -> str:
    """Return a queue's name as in the catalog; raise UsageError if there is no such queue."""
    names = {queue.name.casefold(): queue.name for queue in queues_of(database)}
    declared = queue_named(database, name)
    found = declared.name if declared is not None else names.get(name.casefold())
    if found is None:
        raise unknown("queue", name, names.values(), f"{instance.name}/{database.name}")
    return found
