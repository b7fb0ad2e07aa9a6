"""Rows that are reported together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar
from uuid import UUID

from streams.topology import Source

EXAMPLES = 3
"""Maximum number of dialogs and places shown for a group."""
T = TypeVar("T")


@dataclass(slots=True)
class Group(Generic[T]):
    """Rows for which all checked facts are the same; ``first`` represents all of them.

    ``oldest`` is the age of the oldest row in seconds; only a few conversations, places and status
    texts are stored.
    """

    first: T
    count: int = 0
    oldest: float | None = None
    conversations: list[UUID] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def add(
        self, conversation: UUID | None, source: Source, age: float | None, text: str = ""
    ) -> None:
        """Count a row."""
        self.count += 1
        if age is not None:
            self.oldest = age if self.oldest is None else max(self.oldest, age)
        new = conversation is not None and conversation not in self.conversations
        if conversation is not None and new and len(self.conversations) < EXAMPLES:
            self.conversations.append(conversation)
        if len(self.sources) < EXAMPLES:
            self.sources.append(source)
        if text and text not in self.texts and len(self.texts) < EXAMPLES:
            self.texts.append(text)
