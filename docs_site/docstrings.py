"""An extension of griffe: docstrings name code as Sphinx does, and pages are Markdown."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_ROLE = re.compile(r":[a-z]+:`~?([^`]+)`")


class Roles(Extension):
    """Make plain code of ``:func:`name```."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change an object's docstring, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(r"`\1`", obj.docstring.value)
