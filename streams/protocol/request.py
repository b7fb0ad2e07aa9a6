"""What a database remembers of the route that it asks for (reference 2.5)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """What a database remembers of one service; one state record. Times are epoch milliseconds.

    ``conversation`` is the open request; where it has ended, nothing is asked before ``again_at``.
    ``rounds`` counts the requests since the last route was found, ``total`` all of them.
    """

    service: str
    rounds: int = 0
    total: int = 0
    conversation: uuid.UUID | None = None
    again_at: int = 0
