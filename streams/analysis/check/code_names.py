"""Names of objects in code, which have many spellings."""

from __future__ import annotations

import re

_PART = re.compile(r'\[((?:[^\]]|\]\])*)\]|"((?:[^"]|"")*)"|([^.\s]+)')


def name_key(name: str) -> str:
    """Return the common form of all spellings of an object's name: ``[dbo].[P]`` becomes ``p``."""
    parts = [(a or b or c).casefold() for a, b, c in _PART.findall(name)]
    own = parts[-2:] if len(parts) > 1 and parts[-2] != "dbo" else parts[-1:]
    return ".".join(own)
