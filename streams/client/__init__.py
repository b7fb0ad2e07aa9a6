"""Dialogs for applications: begin, send, receive, end."""

from streams.client.client import Client
from streams.client.conversation import Conversation, StatementError
from streams.client.exchange import Exchange
from streams.client.receiver import Received, Receiver
from streams.client.statements import Statements
from streams.wire.records import LARGEST_BODY

__all__ = [
    "LARGEST_BODY",
    "Client",
    "Conversation",
    "Exchange",
    "Received",
    "Receiver",
    "StatementError",
    "Statements",
]
