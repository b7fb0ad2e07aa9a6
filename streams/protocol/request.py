"""The state of a database's request for a route (reference 2.5)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """The request for one service, in one state record. Times are in epoch milliseconds.

    ``conversation`` is the open request; after its end, no route is requested before ``again_at``.
    ``rounds`` counts the requests since the last route was found, ``total`` all requests.
    """

    service: str
    rounds: int = 0
    total: int = 0
    conversation: uuid.UUID | None = None
    again_at: int = 0
