"""What every application holds: the handle of a conversation, and why a statement was refused."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from streams.errors import HoplineError, text_of


class StatementError(HoplineError):
    """A statement was refused; ``number`` is SQL Server's, ``detail`` says why in words."""

    exit_code = 1

    def __init__(self, number: int, detail: str = "") -> None:
        self.number, self.detail = number, detail or text_of(number)
        super().__init__(f"{number}: {self.detail}")


@dataclass(frozen=True, slots=True)
class Conversation:
    """One side of a dialog, as an application holds it: the handle, in SQL Server's words."""

    instance: str
    database: str
    id: uuid.UUID
    is_initiator: bool = True
