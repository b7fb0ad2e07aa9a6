"""Paths that lead out of the topology, and how to complete it."""

from __future__ import annotations

from collections.abc import Iterable

from streams.analysis.paths.step import Disposition, Ending, Step
from streams.prose import listed, wrapped


def outside_text(ends: Iterable[tuple[Ending, Step]]) -> list[str]:
    """Return lines about the addresses at which paths leave the topology, if any."""
    unknown = (step for ending, step in ends if ending.disposition is Disposition.UNKNOWN)
    addresses = sorted({str(step.address) for step in unknown})
    if not addresses:
        return []
    return wrapped(
        f"No instance of this topology listens at {listed(addresses)}. The path beyond is "
        "unknown, so it counts as broken. Import the instance, or correct the address.",
        rest="",
    )
