"""Dialogs for applications: begin, send, receive, end."""

from streams.client.client import Client, Conversation, StatementError
from streams.client.receiver import Received, Receiver
from streams.wire.records import LARGEST_BODY

__all__ = ["LARGEST_BODY", "Client", "Conversation", "Received", "Receiver", "StatementError"]
