"""Dialogs for applications: begin, send, receive, end.

Statements: ``statements`` builds commands, and ``client``, ``exchange``, ``once`` and ``outbox``
deliver them; ``answers`` waits for their results, and ``conversation`` is the handle of a dialog.

RECEIVE: ``receiver`` returns the messages that ``ahead`` has read, with one ``partition_ahead`` for
each partition. ``queues`` reads the queue's settings, ``begin`` and ``readings`` find where a group
starts, ``read_errors`` translates errors, and ``inbox`` recognizes messages that are delivered
again.
"""

from streams.client.begin import Begin, PositionLostError
from streams.client.client import Client
from streams.client.conversation import Conversation, StatementError
from streams.client.exchange import Exchange
from streams.client.once import Once
from streams.client.receiver import Received, Receiver
from streams.client.statements import Statements
from streams.protocol import Source
from streams.wire.records import LARGEST_BODY

__all__ = [
    "LARGEST_BODY",
    "Begin",
    "Client",
    "Conversation",
    "Exchange",
    "Once",
    "PositionLostError",
    "Received",
    "Receiver",
    "Source",
    "StatementError",
    "Statements",
]
