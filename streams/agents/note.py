"""The metadata of a queue's committed offset: the topic's id, and how often the next message was
rolled back. With this metadata, the count survives a restart, and the offset is not used for a
recreated topic.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """``topic`` is Kafka's topic id; ``None`` if no agent has committed."""

    topic: uuid.UUID | None = None
    rollbacks: int = 0

    def encode(self) -> str:
        """Return the text that Kafka stores."""
        return "" if self.topic is None else f"{self.topic} r{self.rollbacks}"

    @classmethod
    def decode(cls, text: str) -> Note:
        """Decode a note; text in any other format yields an empty note."""
        topic, _, count = text.partition(" r")
        try:
            return cls(uuid.UUID(topic), int(count))
        except ValueError:
            return cls()
