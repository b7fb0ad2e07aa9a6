"""Applications that tests kill, each in its own process: ``python -m tests.faults.applications``.

The arguments are the application's name, bootstrap, prefix; for ``inbox`` the database's URL, for
``source`` the load: messages, rate, dialogs, length. ``source`` and ``target`` also take
``PARTITION:OFFSET``, the position at which they begin if Kafka has lost their offsets. Without it
they are rejected in that case.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterator

import sqlalchemy as sa

from streams.cli.options.begin import begin_of
from streams.client import Conversation, Exchange, PositionLostError, Received, Receiver
from streams.client.inbox import Inbox
from streams.kafka import AbortedError, Cluster, FencedError, headers_of, read_all
from streams.protocol import Command, CommandKind
from streams.wire import MalformedError, Topics
from streams.wire.records import read_command
from tests.faults.load import Load, conversation, number_in
from tests.faults.processes import REFUSED

ASKING = ("ServerA", "DatabaseA")
SERVICES = ("InitiatorService", "TargetService")
QUEUE = ("ServerB", "DatabaseB", "TargetQueue")

ROWS = sa.MetaData()
ORDERS = sa.Table(
    "orders",
    ROWS,
    sa.Column("dialog", sa.Integer, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
)
"""The table of the rows that the sending application has committed."""
ARRIVED = sa.Table(
    "arrived",
    ROWS,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("dialog", sa.Integer, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
)
"""The table of the rows that the receiving application has committed; a repeat would add a row."""


def inbox(cluster: Cluster, url: str) -> None:
    """Insert each message that arrives into a table once."""
    engine = sa.create_engine(url)
    group = f"{cluster.topics.prefix}inbox"
    with Receiver(cluster, *QUEUE, group, member="one") as receiver:
        while True:
            for message in receiver.receive(1, 50):
                with engine.begin() as connection:
                    if Inbox(connection, "target").is_new(message):
                        dialog, number = map(int, message.body.split(b"/"))
                        row = ARRIVED.insert().values(dialog=dialog, number=number)
                        connection.execute(row)
            receiver.commit()


def exchange(cluster: Cluster) -> None:
    """Answer each message once."""
    group = f"{cluster.topics.prefix}exchange"
    with Exchange(cluster, *QUEUE, group, name="one") as queue:
        while True:
            for message in queue.receive(1, 10):
                queue.send(message.conversation, message.body)
            queue.commit()


# --- the conversation of the fault suite --------------------------------------------------

_BATCH = 200
"""The maximum numbers of due messages, and of received messages, in one transaction."""
_PATIENCE = 60.0
"""Seconds to wait for Kafka. On a busy machine a broker that inflates bombs is silent for 30 s."""


def source(cluster: Cluster, *load: str) -> None:
    """Send each message when it is due, and end dialogs that the target has ended.

    After a kill it finds its progress in ``cmd``, because statements are committed in batches.
    """
    messages, rate, dialogs, length = map(float, load[:4])
    asked, begin = Load(int(messages), rate, int(dialogs), int(length)), begin_of(load[4:])
    where, group = (*ASKING, "InitiatorQueue"), f"{cluster.topics.prefix}source"
    with Exchange(cluster, *where, group, name="source", timeout=_PATIENCE, begin=begin) as queue:
        said, began = _said(cluster)
        ended = set() if begin is None else _done(cluster, ASKING[0])[1]
        while True:
            due = min(asked.due(time.time() - began), said + _BATCH)
            for number in range(said, due):
                _ask(queue, cluster, asked, number)
            said = due
            for message in _received(queue, 0.05):
                if message.ends_dialog and message.conversation.id not in ended:
                    queue.end(message.conversation)
            queue.commit()


def target(cluster: Cluster, *begin: str) -> None:
    """Answer messages that request it, and end a dialog after its last message.

    If it starts again at an offset, it receives some messages again, and skips those whose effects
    are in ``cmd``.
    """
    answer = Load(1, 1.0).answer
    group, where = f"{cluster.topics.prefix}target", begin_of(begin)
    with Exchange(cluster, *QUEUE, group, name="target", timeout=_PATIENCE, begin=where) as queue:
        answered, ended = (set(), set()) if where is None else _done(cluster, QUEUE[0])
        while True:
            for message in _received(queue, 0.2):
                number = number_in(message.body)
                if number is None:
                    continue  # a stranger's
                if number % answer == 0 and number not in answered:
                    queue.send(message.conversation, b"%d" % number)
                if message.body.endswith(b"last") and message.conversation.id not in ended:
                    queue.end(message.conversation)
            queue.commit()


def _ask(queue: Exchange, cluster: Cluster, asked: Load, number: int) -> None:
    spoken = asked.planned(number)
    handle = Conversation(*ASKING, conversation(cluster.topics.prefix, spoken.dialog))
    if spoken.index == 0:
        queue.begin(*ASKING, *SERVICES, conversation=handle.id)
    queue.send(handle, spoken.body)


def _said(cluster: Cluster) -> tuple[int, float]:
    """Return how many messages are in ``cmd``, and when the first was due, by default now."""
    found, first = 0, time.time()
    for command, at in _statements(cluster, ASKING[0]):
        number = number_in(command.body or b"")
        if command.kind is CommandKind.SEND and number is not None:
            found = max(found, number + 1)
            first = min(first, at)
    return found, first


def _done(cluster: Cluster, instance: str) -> tuple[set[int], set[uuid.UUID]]:
    """Return the messages that were sent at an instance, and the dialogs that were ended there."""
    sent, ended = set[int](), set[uuid.UUID]()
    for command, _ in _statements(cluster, instance):
        number = number_in(command.body or b"")
        if command.kind is CommandKind.END:
            ended.add(command.conversation)
        elif command.kind is CommandKind.SEND and number is not None:
            sent.add(number)
    return sent, ended


def _statements(cluster: Cluster, instance: str) -> Iterator[tuple[Command, float]]:
    """Yield the statements in ``cmd`` with their times; wait for open transactions."""
    for message in read_all(cluster, cluster.topics.cmd(instance), to_high=True):
        try:
            command = read_command(message.key(), message.value(), headers_of(message), 0)
        except MalformedError:
            continue
        yield command, message.timestamp()[1] / 1000


def _received(queue: Exchange, timeout: float) -> Iterator[Received]:
    """Yield the available messages, some of each group; skip records that are not messages."""
    count = 0
    while count < _BATCH:
        try:
            found = queue.receive(0 if count else timeout)
        except MalformedError:
            continue
        if not found:
            return
        count += len(found)
        yield from found


APPLICATIONS: dict[str, Callable[..., None]] = {
    "inbox": inbox,
    "exchange": exchange,
    "source": source,
    "target": target,
}


def run(name: str, cluster: Cluster, *rest: str) -> None:
    """Run an application, with a new reader whenever Kafka has removed its member from the group.

    On a busy machine a process, or its broker, may pause for longer than a session. What it had
    received then belongs to another member, so its commit is aborted.
    """
    while True:
        try:
            return APPLICATIONS[name](cluster, *rest)
        except (AbortedError, FencedError) as error:
            print(f"hopline: {error}", file=sys.stderr)


if __name__ == "__main__":
    application, bootstrap, prefix, *arguments = sys.argv[1:]
    try:
        run(application, Cluster(bootstrap, Topics(prefix)), *arguments)
    except PositionLostError as refused:
        print(f"hopline: {refused}", file=sys.stderr)
        sys.exit(REFUSED)
