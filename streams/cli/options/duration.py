"""Durations on the command line."""

from __future__ import annotations

import math

import click

from streams.times import read_duration

__all__ = ["DURATION", "Duration"]


class Duration(click.ParamType):
    """A parameter type; its value is whole milliseconds."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the milliseconds of a string such as ``60s``."""
        if isinstance(value, int):
            return value
        found = read_duration(str(value))
        if found is None or not math.isfinite(found):
            self.fail(
                f"{value!r} is not a duration; write it like 500ms, 60s, 2m or 1h.", param, ctx
            )
        milliseconds = round(found / 1_000)
        if found and not milliseconds:
            self.fail(f"{value!r} is less than a millisecond.", param, ctx)
        return milliseconds


DURATION = Duration()
