"""Find bodies that pin too much of a log and should be copied to its end.

This is part of rule 5 of docs/kafka_mapping.md. A log can be trimmed only up to the oldest body
that is still needed, even if thousands of obsolete records follow this body. So a few old bodies
are written again at the end of the log, and the state then contains their new positions.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from streams.node.endpoint.endpoint import Endpoint
from streams.node.endpoint.retention import TrimPoint
from streams.protocol import DialogKey

TOO_MUCH = 10_000
"""Minimum number of records to free by moving bodies: some megabytes, or a minute of traffic."""
SHARE = 10
"""At most one in this many records can still be needed, so that a few writes free many records."""
AT_ONCE = 200
"""Maximum number of bodies moved in one transaction."""
MOST_NEEDED = 100_000
"""Maximum number of bodies to collect in memory (8 MB), of which the oldest are moved."""
MOST_EXAMINED = 500_000
"""Maximum number of positions to compare with the end, which takes 0.2 s; a transaction that moves
bodies examines them again. The bodies of dialogs with more positions are not moved."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Bodies to move: their dialogs, and their conversations by position in ``cmd`` and ``in``."""

    dialogs: tuple[DialogKey, ...]
    commands: dict[int, uuid.UUID]
    frames: dict[int, uuid.UUID]


def moves_of(
    endpoint: Endpoint,
    trim_point: TrimPoint,
    old: TrimPoint,
    least: int = TOO_MUCH,
    is_lost: Callable[[int, int], bool] = lambda which, position: False,
) -> Moves | None:
    """Return the bodies to move, if any.

    The inputs could be trimmed to ``trim_point``. Records below ``old`` are old enough to be
    removed. A body that ``is_lost`` (by input and position) stays, and so do the bodies behind it,
    because the log cannot be trimmed beyond it.
    """
    of_cmd, commands = _few(endpoint, 0, trim_point.cmd, old.cmd, least, is_lost)
    of_in, frames = _few(endpoint, 1, trim_point.inbox, old.inbox, least, is_lost)
    return (
        Moves(tuple(dict.fromkeys(of_cmd + of_in)), commands, frames)
        if commands or frames
        else None
    )


def _few(
    endpoint: Endpoint,
    which: int,
    begin: int,
    end: int,
    least: int,
    is_lost: Callable[[int, int], bool],
) -> tuple[list[DialogKey], dict[int, uuid.UUID]]:
    """Return the oldest needed bodies of an input, with their dialogs.

    The result is empty if moving the bodies would not free enough space, or if too many bodies are
    needed.
    """
    if end - begin < least:
        return [], {}
    count, keys = endpoint.retention.below(which, end, AT_ONCE)
    most, examined = min((end - begin) // SHARE, MOST_NEEDED), 0
    if count > most:
        return [], {}
    needed: dict[int, uuid.UUID] = {}
    lost = end
    for dialog in filter(None, map(endpoint.dialogs.look, keys)):
        positions = dialog.needed_frames() if which else dialog.needed_commands()
        for position in positions:
            examined += 1
            if position < lost and is_lost(which, position):
                lost = position
            elif position < end:
                needed[position] = dialog.conversation
            if len(needed) > most or examined > MOST_EXAMINED:
                return [], {}
    if lost - begin < least:
        return [], {}
    return keys, {p: needed[p] for p in sorted(needed)[:AT_ONCE] if p < lost}
