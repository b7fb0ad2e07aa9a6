"""The content of a heartbeat besides its sender."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_PERIOD = 60
"""Seconds between two heartbeats at most, however many names there are."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One mirrored database of an instance: its broker id, and its role in the pair."""

    broker: str
    principal: bool
    epoch: int
