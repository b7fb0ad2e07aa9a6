"""``hopline begin``, ``send``, ``end`` and ``receive``: the statements of an application."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from streams.analysis import find_at
from streams.analysis.places import unknown
from streams.cli.options import cluster_of, cluster_options
from streams.cli.record_text import said
from streams.cli.topology_argument import ConversationId
from streams.client import Client, Conversation, Received, Receiver, StatementError
from streams.errors import UsageError
from streams.kafka import Cluster, read_catalog
from streams.topology import Database, Instance, queue_named, queues_of
from streams.wire import MalformedError
from streams.wire.describe import body_of

F = TypeVar("F", bound=Callable[..., Any])

_BAD_NEWS = 1
_INTEGER = 2**31 - 1

_at = click.option(
    "--at", required=True, metavar="INSTANCE/DATABASE", help="Where the application is."
)
_conversation = click.option(
    "--conversation", required=True, type=ConversationId(), help="The dialog, as begin printed it."
)
_target = click.option("--target", is_flag=True, help="Act for the target's side of the dialog.")


def _common(command: F) -> F:
    """Add the options that every statement has."""
    format_ = click.option(
        "--format", "format_", default="text", type=click.Choice(["text", "json"])
    )
    timeout = click.option(
        "--timeout",
        default=30.0,
        show_default=True,
        help="Seconds to wait for Kafka and for the answer.",
    )
    return timeout(format_(cluster_options(command)))


@click.command()
@_at
@click.option("--from", "from_service", required=True, metavar="SERVICE", help="Who begins.")
@click.option("--to", "to_service", required=True, metavar="SERVICE", help="Whom to talk to.")
@click.option("--broker", metavar="ID", help="Broker id of the target's database. [default: any]")
@click.option("--contract", metavar="NAME", help="What may be said. [default: DEFAULT]")
@click.option(
    "--lifetime",
    metavar="SECONDS",
    type=click.IntRange(-_INTEGER - 1, _INTEGER),
    help="When the dialog must be over. [default: 68 years]",
)
@_common
def begin(
    at: str,
    from_service: str,
    to_service: str,
    broker: str | None,
    contract: str | None,
    lifetime: int | None,
    timeout: float,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """BEGIN DIALOG: print the conversation id of a new dialog.

    Nothing is sent to the network by it; the first SEND does that. A statement that is refused ends
    with exit code 1 and SQL Server's error number.
    """
    cluster = _reached(bootstrap, prefix, timeout)
    instance, database = _place(cluster, at)
    made = uuid.uuid4()
    with _answered(format_, made), Client(cluster, timeout=timeout) as client:
        client.begin(
            instance.name,
            database.name,
            from_service,
            to_service,
            broker=broker,
            contract=contract,
            lifetime=lifetime,
            conversation=made,
        )
    if format_ == "text":
        click.echo(str(made))


@click.command()
@_at
@_conversation
@_target
@click.option("--type", "type_", metavar="NAME", help="Message type. [default: DEFAULT]")
@click.argument("body", required=False)
@click.option("--file", type=click.File("rb"), help="The body is what this file has.")
@_common
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

    BODY is the message in UTF-8; - reads it from the standard input, '' sends an empty one. The
    answer says that the message is in the transmission queue, not that it has arrived.
    """
    content = _body(body, file)
    cluster = _reached(bootstrap, prefix, timeout)
    instance, database = _place(cluster, at)
    side = Conversation(instance.name, database.name, conversation, not target)
    with (
        _answered(format_, conversation) as answer,
        Client(cluster, timeout=timeout) as client,
    ):
        answer["message_id"] = str(client.send(side, content, type=type_, wait=True))
    if format_ == "text":
        click.echo(answer["message_id"])


@click.command()
@_at
@_conversation
@_target
@click.option(
    "--error",
    type=(click.IntRange(1, _INTEGER), str),
    metavar="CODE TEXT",
    help="WITH ERROR: what is not acknowledged is discarded, and the other side told.",
)
@click.option("--cleanup", is_flag=True, help="WITH CLEANUP: forget it and tell nobody.")
@_common
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
    """END CONVERSATION, also WITH ERROR or WITH CLEANUP."""
    if error is not None and cleanup:
        raise click.UsageError("--error and --cleanup exclude each other.")
    cluster = _reached(bootstrap, prefix, timeout)
    instance, database = _place(cluster, at)
    side = Conversation(instance.name, database.name, conversation, not target)
    with _answered(format_, conversation), Client(cluster, timeout=timeout) as client:
        client.end(side, error=error, cleanup=cleanup, wait=True)


@click.command()
@_at
@click.option("--queue", required=True, metavar="QUEUE", help="The queue to read.")
@click.option(
    "--group", required=True, metavar="NAME", help="Who reads; a group gets a message once."
)
@click.option("--limit", type=click.IntRange(min=1), help="Stop after this many messages.")
@click.option(
    "--timeout", default=10.0, show_default=True, help="Seconds to wait for the next message."
)
@click.option(
    "--end-when-ended", is_flag=True, help="END CONVERSATION where the other side has ended."
)
@click.option("--format", "format_", default="text", type=click.Choice(["text", "json"]))
@cluster_options
@click.pass_context
def receive(
    ctx: click.Context,
    at: str,
    queue: str,
    group: str,
    limit: int | None,
    timeout: float,
    end_when_ended: bool,
    format_: str,
    bootstrap: str,
    prefix: str,
) -> None:
    """RECEIVE: print the messages of a queue until none comes any more.

    What was printed is committed for the group and does not come again: bodies are printed whole,
    as text where they are UTF-8, else as hexadecimal digits.
    """
    cluster = _reached(bootstrap, prefix, max(timeout, 5.0))
    instance, database = _place(cluster, at)
    name = _queue(instance, database, queue)
    broken = 0
    with (
        Receiver(cluster, instance.name, database.name, name, group) as receiver,
        Client(cluster) as client,
    ):
        left = limit
        while left is None or left > 0:
            try:
                received = receiver.receive(timeout, 1)
            except MalformedError as error:
                broken += 1
                click.echo(f"hopline: {error}", err=True)
                receiver.commit()
                continue
            if not received:
                break
            for message in received:
                _show(message, format_)
                if end_when_ended and message.ends_dialog:
                    _end_here(client, message)
            sys.stdout.flush()
            receiver.commit()
            left = None if left is None else left - len(received)
    ctx.exit(_BAD_NEWS if broken else 0)


def _end_here(client: Client, message: Received) -> None:
    """End our side; that it has ended already is no failure: the message came twice."""
    try:
        client.end(message.conversation, wait=True)
    except StatementError as error:
        click.echo(f"hopline: {message.conversation.id}: {error}", err=True)


def _show(message: Received, format_: str) -> None:
    header, parties = message.frame.header, message.frame.parties
    if format_ == "text":
        # Whole, on one line however long it is: what was printed does not come again.
        text = said(header.type, body_of(message.body), sys.maxsize)
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


# --- what the statements share -------------------------------------------------------------------


def _reached(bootstrap: str, prefix: str, timeout: float) -> Cluster:
    cluster = cluster_of(bootstrap, prefix)
    cluster.wait(timeout, lambda text: click.echo(text, err=True))
    return cluster


def _place(cluster: Cluster, at: str) -> tuple[Instance, Database]:
    """Find the database in the catalog, so that a typo does not wait for an answer."""
    topology = read_catalog(cluster).topology
    if topology is None:
        raise UsageError("The catalog is empty.", "Run 'hopline apply TOPOLOGY' first.")
    instance, database = find_at(topology, at)
    if database is None:
        raise UsageError(
            f"'{at}' names no database",
            f"Write {instance.name}/DATABASE; it has: {', '.join(sorted(instance.databases))}.",
        )
    return instance, database


def _queue(instance: Instance, database: Database, name: str) -> str:
    """Return the name under which a queue is kept, declared or only named by a service."""
    names = {queue.name.casefold(): queue.name for queue in queues_of(database)}
    declared = queue_named(database, name)
    found = declared.name if declared is not None else names.get(name.casefold())
    if found is None:
        raise unknown("queue", name, names.values(), f"{instance.name}/{database.name}")
    return found


def _body(text: str | None, file: Any) -> bytes:
    if (text is None) == (file is None):
        raise click.UsageError("Give the message's BODY (- for the standard input) or --file.")
    if file is not None:
        content: bytes = file.read()
        return content
    if text == "-":
        return sys.stdin.buffer.read()
    return (text or "").encode("utf-8", "surrogateescape")


@contextmanager
def _answered(format_: str, conversation: uuid.UUID) -> Iterator[dict[str, Any]]:
    """Print the answer as JSON if asked for, also where the statement is refused."""
    answer: dict[str, Any] = {"conversation": str(conversation), "number": 0, "text": ""}
    try:
        yield answer
    except StatementError as error:
        answer["number"], answer["text"] = error.number, error.detail
        if format_ == "json":
            click.echo(json.dumps(answer, ensure_ascii=False))
        raise
    if format_ == "json":
        click.echo(json.dumps(answer, ensure_ascii=False))
