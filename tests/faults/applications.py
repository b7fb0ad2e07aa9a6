"""Applications that tests kill, each a process of its own: ``python -m tests.faults.applications``.

Arguments: which of them, bootstrap, prefix; for ``inbox`` the database's URL, for ``source`` the
load: messages, rate, dialogs, length.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import sqlalchemy as sa

from streams.client import Conversation, Exchange, Received, Receiver
from streams.client.inbox import Inbox
from streams.kafka import Cluster, headers_of, read_all
from streams.protocol import CommandKind
from streams.wire import MalformedError, Topics
from streams.wire.records import read_command
from tests.faults.load import Load, conversation, number_in

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
"""What the sending application has committed."""
ARRIVED = sa.Table(
    "arrived",
    ROWS,
    sa.Column("id", sa.BigInteger, primary_key=True),
    sa.Column("dialog", sa.Integer, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
)
"""What the receiving application has committed; a repeat would be a row more."""


def inbox(cluster: Cluster, url: str) -> None:
    """Put what arrives into a table, once each."""
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
    """Answer everything, once each."""
    group = f"{cluster.topics.prefix}exchange"
    with Exchange(cluster, *QUEUE, group, name="one") as queue:
        while True:
            for message in queue.receive(1, 10):
                queue.send(message.conversation, message.body)
            queue.commit()


# --- the conversation that the fault suite runs --------------------------------------------------

_BATCH = 200
"""Messages in one transaction at most, of those that are due, and of those that are received."""


def source(cluster: Cluster, *load: str) -> None:
    """Say each message when it is due, and end what the target has ended.

    One that was killed reads in ``cmd`` how far it had come: statements are committed in batches.
    """
    messages, rate, dialogs, length = map(float, load)
    asked = Load(int(messages), rate, int(dialogs), int(length))
    where, group = (*ASKING, "InitiatorQueue"), f"{cluster.topics.prefix}source"
    with Exchange(cluster, *where, group, name="source", timeout=10) as queue:
        said, began = _said(cluster)
        while True:
            due = min(asked.due(time.time() - began), said + _BATCH)
            for number in range(said, due):
                _ask(queue, cluster, asked, number)
            said = due
            for message in _received(queue, 0.05):
                if message.ends_dialog:
                    queue.end(message.conversation)
            queue.commit()


def target(cluster: Cluster) -> None:
    """Answer what asks for it, and end a dialog after its last message."""
    answer = Load(1, 1.0).answer
    group = f"{cluster.topics.prefix}target"
    with Exchange(cluster, *QUEUE, group, name="target", timeout=10) as queue:
        while True:
            for message in _received(queue, 0.2):
                number = number_in(message.body)
                if number is None:
                    continue  # a stranger's
                if number % answer == 0:
                    queue.send(message.conversation, b"%d" % number)
                if message.body.endswith(b"last"):
                    queue.end(message.conversation)
            queue.commit()


def _ask(queue: Exchange, cluster: Cluster, asked: Load, number: int) -> None:
    spoken = asked.spoken(number)
    handle = Conversation(*ASKING, conversation(cluster.topics.prefix, spoken.dialog))
    if spoken.index == 0:
        queue.begin(*ASKING, *SERVICES, conversation=handle.id)
    queue.send(handle, spoken.body)


def _said(cluster: Cluster) -> tuple[int, float]:
    """Return how many messages are in ``cmd``, and when the first was due: now if there is none.

    Waits for transactions that are still open.
    """
    found, first = 0, time.time()
    for message in read_all(cluster, cluster.topics.cmd(ASKING[0]), to_high=True):
        try:
            command = read_command(message.key(), message.value(), headers_of(message), 0)
        except MalformedError:
            continue
        number = number_in(command.body or b"")
        if command.kind is CommandKind.SEND and number is not None:
            found = max(found, number + 1)
            first = min(first, message.timestamp()[1] / 1000)
    return found, first


def _received(queue: Exchange, timeout: float) -> Iterator[Received]:
    """Yield what is there, some messages of each group; passes over what is no message."""
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

if __name__ == "__main__":
    name, bootstrap, prefix, *rest = sys.argv[1:]
    APPLICATIONS[name](Cluster(bootstrap, Topics(prefix)), *rest)
