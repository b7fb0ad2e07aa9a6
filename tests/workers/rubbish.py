"""Records that no topic of frames or commands can mean anything by, and parts of good ones."""

from __future__ import annotations

import time
import uuid

from streams.protocol import Header, Journey, Parties
from streams.wire.frame_headers import encode_journey, encode_parties
from streams.wire.records import Headers

Raw = tuple[bytes | None, bytes | None, Headers]

UNKNOWN = b"\xc3\x01" + bytes(8) + b"x"
DAY = 24 * 3600 * 1000


def now() -> int:
    return time.time_ns() // 1_000_000


def parties(**changes: object) -> Parties:
    found = Parties("TargetService", "DatabaseB", "InitiatorService", "DatabaseA", "DEFAULT", True)
    return found._replace(**changes)  # type: ignore[arg-type]


def header(**changes: object) -> Header:
    found = Header(uuid.uuid4(), "DEFAULT", 0, now(), now() + DAY)
    return found._replace(**changes)  # type: ignore[arg-type]


def journey(**changes: object) -> Journey:
    found = Journey(16, now() + 60_000, 0, now())
    return found._replace(**changes)  # type: ignore[arg-type]


def rubbish() -> list[Raw]:
    """Return records that no topic of frames or commands can mean anything by."""
    key = str(uuid.uuid4()).encode()
    route, hop = encode_parties(parties()), encode_journey(journey())
    names = ("sb-command", "sb-route", "sb-message", "sb-hop")
    return [
        (None, None, []),
        (None, b"x", []),
        (b"\xff\xfe", b"x", []),
        (b"not-a-guid", b"", []),
        (b"\xff" * 400_000, b"x", []),
        (key, None, []),
        (key, b"x", [("sb-route", route)]),
        (key, b"x", [("sb-hop", hop)]),
        (key, b"x", [(name, b"") for name in names]),
        (key, b"x", [(name, None) for name in names]),
        (key, b"x", [(name, b"\xc3\x01") for name in names]),
        (key, b"x", [(name, UNKNOWN) for name in names]),
        (key, b"x", [("sb-route", route[:-1]), ("sb-hop", hop)]),
        (key, b"x", [("sb-route", route + b"x"), ("sb-hop", hop)]),
        (key, b"x", [("sb-route", route[:12] + b"\xff" * 9), ("sb-hop", hop)]),
        (key, b"x", [("sb-route", route), ("sb-hop", hop[:-1])]),
        (key, b"x", [("sb-route", route), ("sb-hop", hop[:10] + b"\xff" * 30)]),
    ]
