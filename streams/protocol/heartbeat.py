"""The content of a heartbeat, apart from its sender."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_PERIOD = 60
"""Maximum number of seconds between two heartbeats, for any number of names."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim for one mirrored database: its broker id, and its role in the mirrored pair."""

    broker: str
    principal: bool
    epoch: int
