"""The state of a database's request for a route (reference 2.5)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """The request for one service, in one state record. Times are in epoch milliseconds.

    ``conversation`` is the dialog of the open request; after its end, the next request is sent at
    ``again_at`` at the earliest. ``rounds`` counts the requests since a route was last found,
    ``total`` all requests.
    """

    service: str
    rounds: int = 0
    total: int = 0
    conversation: uuid.UUID | None = None
    again_at: int = 0
