"""The head of every page: our style and script, with hashes of their content."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from markupsafe import Markup

FOLDER = Path(__file__).parent / "static"
AT = "/static"


@cache
def head_html() -> str:
    """Return the tags; the script comes first, so that nothing is painted in the wrong theme."""
    script, style = _address("dashboard.js"), _address("dashboard.css")
    return str(
        Markup('<script src="{}"></script><link rel="stylesheet" href="{}">').format(script, style)
    )


def _address(name: str) -> str:
    digest = hashlib.blake2b((FOLDER / name).read_bytes(), digest_size=6).hexdigest()
    return f"{AT}/{name}?{digest}"
