"""The maximum lengths of names in a frame, in UTF-16 code units, as SQL Server counts them."""

from __future__ import annotations

from operator import attrgetter

from streams.errors import Number
from streams.protocol.frames import Parties

NAME_UNITS, BROKER_UNITS = 256, 128
"""The longest service or contract name and broker id, in UTF-16 units."""


def units(name: str) -> int:
    """Return the length of a name in UTF-16 units."""
    return len(name.encode("utf-16-le", "surrogatepass")) // 2


def is_too_long(name: str, longest: int) -> bool:
    """Return whether a name has more than ``longest`` UTF-16 units."""
    return len(name) > longest // 2 and units(name) > longest


_FRAME = (
    (
        attrgetter("from_service"),
        NAME_UNITS,
        Number.FROM_SERVICE_MISSING,
        Number.FROM_SERVICE_TOO_LONG,
    ),
    (
        attrgetter("from_broker"),
        BROKER_UNITS,
        Number.FROM_BROKER_MISSING,
        Number.FROM_BROKER_TOO_LONG,
    ),
    (attrgetter("to_service"), NAME_UNITS, Number.TO_SERVICE_MISSING, Number.TO_SERVICE_TOO_LONG),
    (attrgetter("contract"), NAME_UNITS, Number.CONTRACT_MISSING, Number.CONTRACT_TOO_LONG),
)
"""The names in every frame, in the order in which they are checked."""


def invalid_name(parties: Parties) -> Number | None:
    """Return the error number if a name of a frame is missing or too long (5.3)."""
    for name_of, longest, missing, too_long in _FRAME:
        name = name_of(parties)
        if not name:
            return missing
        if is_too_long(name, longest):
            return too_long
    return None


def name_too_long(parties: Parties) -> Number | None:
    """Return the error number if a name of a frame is too long (1.2, 5.3).

    SQL Server has no error number for a TO broker id that is too long. No database has such an id,
    so the result is the number for a broker that does not exist.
    """
    for name_of, longest, _, too_long in _FRAME:
        if is_too_long(name_of(parties), longest):
            return too_long
    if is_too_long(parties.to_broker or "", BROKER_UNITS):
        return Number.TARGET_BROKER_NOT_HERE
    return None
