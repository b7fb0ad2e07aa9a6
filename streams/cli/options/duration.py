"""Durations on the command line: ``500ms``, ``60s``, ``2m``, ``1h``; a bare number is seconds."""

from __future__ import annotations

import re

import click

__all__ = ["DURATION", "Duration"]

_PATTERN = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, None: 1000}


class Duration(click.ParamType):
    """A parameter type; its value is whole milliseconds."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the milliseconds of a text such as ``60s``."""
        if isinstance(value, int):
            return value
        match = _PATTERN.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is no duration; write it like 500ms, 60s, 2m or 1h.", param, ctx)
        return round(float(match[1]) * _MILLISECONDS[match[2]])


DURATION = Duration()
