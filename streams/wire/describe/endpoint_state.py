"""The records of ``dialog``: positions, dialogs, chunks, requests and seen statements."""

from __future__ import annotations

from streams.wire.describe.builder import DescriptionBuilder
from streams.wire.state import (
    decode_chunk,
    decode_dialog,
    decode_positions,
    decode_request,
    decode_seen,
)
from streams.wire.state_keys import POSITIONS_KEY, RequestKey, SeenKey, decode_key


def describe_state(found: DescriptionBuilder) -> None:
    """Describe a record of ``dialog``, by its key."""
    key, stored = found.record.key or b"", found.record.value or b""
    if key == POSITIONS_KEY:
        found.take("positions", lambda: decode_positions(stored))
        return
    about = found.take("about", lambda: decode_key(key))
    if about is None:
        return
    if isinstance(about, RequestKey):
        found.out["database"] = about.database
        if found.kept_value() is not None:
            found.take("request", lambda: decode_request(stored, about.service))
        return
    if isinstance(about, SeenKey):
        found.take("seen", lambda: decode_seen(stored))
        return
    found.out["conversation"] = str(about.conversation)
    found.out["database"] = about.database
    if found.kept_value() is None:
        return
    if about.chunk is not None:
        found.take("chunk", lambda: list(decode_chunk(stored)))
    elif found.take("dialog", lambda: decode_dialog(stored, about.conversation)) is not None:
        # stored in separate records
        for name in ("chunks", "last_copy", "in_flight"):
            del found.out["dialog"][name]
