"""Dialogs for applications: begin, send, receive, end."""

from streams.client.client import LARGEST_BODY, Client, Conversation, StatementError
from streams.client.receiver import Received, Receiver

__all__ = ["LARGEST_BODY", "Client", "Conversation", "Received", "Receiver", "StatementError"]
