"""The verdict of one flow."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from streams.topology import Finding


class PathVerdict(Enum):
    """The verdict; the values are used in JSON output, from the worst to the best."""

    BROKEN = "broken"
    HAZARD = "hazard"
    OK = "ok"


def judge(fine: bool, hazards: Sequence[Finding]) -> PathVerdict:
    """Return the verdict; ``fine``: every message arrives, and its acknowledgement returns."""
    if not fine:
        return PathVerdict.BROKEN
    return PathVerdict.HAZARD if hazards else PathVerdict.OK
