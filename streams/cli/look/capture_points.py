"""Start and end of a recording on the command line: a time, or an offset."""

from __future__ import annotations

import re

import click

from streams.capture.recording import Point
from streams.cli.options.instant import moment_of

_OFFSET = re.compile(r"(?:(?P<topic>[\w.-]+?)(?:/(?P<partition>\d+))?)?@(?P<offset>\d+)")


class PointType(click.ParamType):
    """A parameter type: ``2026-01-05T09:00``, ``@1500``, ``TOPIC@1500``, ``TOPIC/0@1500``."""

    name = "point"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Point:
        """Return the value of a string; times are UTC unless they have a zone."""
        if isinstance(value, Point):
            return value
        text = str(value).strip()
        match = _OFFSET.fullmatch(text)
        if match is not None:
            partition = match["partition"]
            at = None if partition is None else int(partition)
            return Point(None, int(match["offset"]), match["topic"], at)
        moment = moment_of(text)
        if moment is None:
            self.fail(
                f"{text!r} is neither a time (2026-01-05T09:00:00Z) nor an offset (@1500, "
                "TOPIC@1500, TOPIC/0@1500).",
                param, ctx,
            )  # fmt: skip
        return Point(moment)


POINT = PointType()
