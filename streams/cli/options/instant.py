"""Times on the command line: ``2026-11-03``, ``2026-11-03T12:03:04+01:00``; UTC by default."""

from __future__ import annotations

from datetime import UTC, datetime

import click


def moment_of(text: str) -> int | None:
    """Parse a string such as ``2026-11-03T12:03:04Z`` into epoch milliseconds; None if invalid."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


class Instant(click.ParamType):
    """A parameter type; its value is epoch milliseconds."""

    name = "instant"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Return the milliseconds of a string such as ``2026-11-03T12:03:04Z``."""
        if isinstance(value, int):
            return value
        moment = moment_of(str(value))
        if moment is None:
            self.fail(f"{value!r} is not a time; write it like 2026-11-03T12:03:04.", param, ctx)
        return moment


INSTANT = Instant()
