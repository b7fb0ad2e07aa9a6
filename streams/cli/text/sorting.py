"""Sort records by time, with only their sort keys in memory."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator

from streams.errors import UsageError
from streams.wire.describe import Description

_IN_MEMORY = 16 << 20
MOST = 1 << 30
"""Maximum number of bytes of all records as JSON."""
_LONGEST = 32_768
"""Maximum characters of a body that text output needs; an Error's description ends within them."""
Order = tuple[int, int, str, int, int]


def sort_records(
    records: Iterable[Description], order: Callable[[Description], Order]
) -> Iterator[Description]:
    """Yield records in order; above 16 MB, they are kept in a temporary file until then.

    Raises UsageError if their size exceeds :data:`MOST`.
    """
    places: list[tuple[Order, int]] = []
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
        for record in records:
            places.append((order(record), file.tell()))
            file.write(json.dumps(record).encode() + b"\n")
            if file.tell() > MOST:
                raise UsageError(
                    "The records of this conversation take more than 1 GB.",
                    "Give a topic, for example 'event', or leave out --format json.",
                )
        for _, begin in sorted(places):
            file.seek(begin)
            yield json.loads(file.readline())


def cut_body(record: Description) -> Description:
    """Shorten a record's body to the part that text output might need."""
    body = record.get("body")
    if body is not None:
        record["body"] = {k: v[:_LONGEST] if isinstance(v, str) else v for k, v in body.items()}
    return record
