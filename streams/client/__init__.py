"""Dialogs for applications: begin, send, receive, end."""

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
