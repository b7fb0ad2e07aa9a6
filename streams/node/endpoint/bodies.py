"""The bodies that a transaction needs: how they are requested, and why they can be missing."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Protocol

from streams.protocol import Command, Message


class TooMuchError(Exception):
    """The bodies that a transaction needs or writes exceed its limit; retry with less work."""


class UnreadableError(Exception):
    """Bodies at these ``positions``, of these ``conversations``, can no longer be read.

    A body may belong to further conversations. If the search for such bodies ``is_unfinished``,
    because it takes time and is limited, there may be more of them; retry the rest later.
    """

    def __init__(
        self,
        text: str,
        positions: Set[int],
        conversations: Set[uuid.UUID],
        *,
        is_unfinished: bool = False,
    ) -> None:
        super().__init__(text)
        self.positions = positions
        self.conversations: Set[uuid.UUID] = conversations
        self.is_unfinished = is_unfinished


class Bodies(Protocol):
    """The reader of bodies. Bodies are stored once; the state contains only their positions.

    Request several bodies together, because they are read in position order. Each position is given
    with its conversation, because a hostile record may claim the position of another record.
    Both methods raise UnreadableError.
    """

    def commands(self, wanted: Mapping[int, uuid.UUID], /) -> Mapping[int, Command]:
        """Return the commands at these positions of ``cmd``."""

    def messages(self, wanted: Mapping[int, uuid.UUID], /) -> Mapping[int, Message]:
        """Return the message frames at these positions of ``in``."""


@dataclass(slots=True)
class Frames:
    """Message frames of ``in``: some frames are read together in advance, others on demand."""

    bodies: Bodies
    _together: Mapping[int, Message] = field(default_factory=dict)

    def read(self, wanted: Mapping[int, uuid.UUID]) -> None:
        """Read the frames that are needed next, and drop the previous frames."""
        self._together = self.bodies.messages(wanted) if wanted else {}

    def at(self, conversation: uuid.UUID, position: int) -> Message:
        """Return a conversation's message frame at a position."""
        found = self._together.get(position)
        if found is None:
            found = self.bodies.messages({position: conversation})[position]
        return found
