"""A router's rows, in a table that has a default for what is missing, as Faust's."""

from __future__ import annotations

import uuid
from collections import UserDict

from streams.agents.data_dependent import keep_rows
from streams.services import Handle, Turn

INBOUND = Handle(uuid.UUID(int=1), is_initiator=False)
OUTBOUND = Handle(uuid.UUID(int=2), is_initiator=True)


class Table(UserDict[str, str]):
    """Knows something of every key, and has no row for it."""

    def __missing__(self, key: str) -> str:
        return ""


def test_a_row_that_is_gone_already_is_no_failure() -> None:
    """Who died between two deletions gets the message again: it must not fail for ever."""
    rows = Table()
    both = ((OUTBOUND, INBOUND), (INBOUND, OUTBOUND))
    keep_rows(rows, Turn(stored=both), {})
    assert len(rows) == 2
    del rows[f"{OUTBOUND.conversation}/initiator"]
    keep_rows(rows, Turn(deleted=(OUTBOUND, INBOUND)), {})
    assert not rows
