"""Applications that tests kill, each a process of its own: ``python -m tests.faults.applications``.

Arguments: which of them, bootstrap, prefix, and for ``inbox`` the database's URL.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import sqlalchemy as sa

from streams.client import Exchange, Receiver
from streams.client.inbox import Inbox
from streams.kafka import Cluster
from streams.wire import Topics

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


APPLICATIONS: dict[str, Callable[..., None]] = {"inbox": inbox, "exchange": exchange}

if __name__ == "__main__":
    name, bootstrap, prefix, *rest = sys.argv[1:]
    APPLICATIONS[name](Cluster(bootstrap, Topics(prefix)), *rest)
