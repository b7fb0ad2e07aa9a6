"""The handle of a conversation, and the error of a rejected statement."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from streams.errors import HoplineError, text_of


class StatementError(HoplineError):
    """A rejected statement; ``number`` is SQL Server's error, ``detail`` the reason as text."""

    exit_code = 1

    def __init__(self, number: int, detail: str = "") -> None:
        self.number, self.detail = number, detail or text_of(number)
        super().__init__(f"{number}: {self.detail}")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One side of a dialog: the conversation handle, in SQL Server's terms."""

    instance: str
    database: str
    id: uuid.UUID
    is_initiator: bool = True
