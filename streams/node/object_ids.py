"""The ids of objects in the system views.

SQL Server numbers a database's services, contracts, message types, queues and priorities when they
are created. Hopline derives the number from the name. So it is the same in every view, process and
simulation, and views can be joined by it; an object that is created again has its old id.
"""

from __future__ import annotations

import zlib

_FIRST = 65536
"""The first id that SQL Server gives to an object of a user; smaller ids belong to the system."""
_LAST = 2**31 - 1


def object_id(name: str | None) -> int | None:
    """Return the id of an object by its name; ``None``, as for ANY, has no id."""
    if name is None:
        return None
    return _FIRST + zlib.crc32(name.encode("utf-16-le", "surrogatepass")) % (_LAST - _FIRST)


def queue_id(name: str) -> int | None:
    """Return the id of a queue; names of queues are case-insensitive."""
    return object_id(name.casefold())
