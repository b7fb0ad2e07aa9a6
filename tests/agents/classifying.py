"""A classifier that notes in the file $CLASSIFIED what it is asked."""

from __future__ import annotations

import os
from pathlib import Path

from streams.services import to_service_name


def classify(body: bytes) -> str | None:
    """Return the name in a body, by the documentation's sample."""
    with Path(os.environ["CLASSIFIED"]).open("ab") as calls:
        calls.write(body + b"\n")
    return to_service_name(body)
