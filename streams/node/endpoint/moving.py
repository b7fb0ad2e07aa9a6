"""Which bodies pin too much of a log, and are better copied to its end (design rule 5).

A log begins with the oldest body that is still needed, however much lies behind it that nobody
needs. A few such bodies are written once more, at the end; the state says then where they are now.
"""

from __future__ import annotations

from dataclasses import dataclass

from streams.node.endpoint.endpoint import Endpoint
from streams.node.endpoint.retention import TrimPoint
from streams.protocol import DialogKey

TOO_MUCH = 10_000
"""So many records that could go are worth the trouble: some megabytes, and a minute of traffic."""
SHARE = 10
"""Of these at most one in so many may be needed: what is written is a fraction of what goes."""
AT_ONCE = 200
"""So many bodies are moved in one transaction at most; others the next time."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Bodies to be moved, by their positions in ``cmd`` and ``in``, and whose they are."""

    dialogs: tuple[DialogKey, ...]
    commands: tuple[int, ...]
    frames: tuple[int, ...]


def moves_of(
    endpoint: Endpoint, trim_point: TrimPoint, old: TrimPoint, least: int = TOO_MUCH
) -> Moves | None:
    """Return what is better moved, if anything is.

    The inputs may begin at ``trim_point``; for their age, everything below ``old`` could go.
    """
    of_cmd, commands = _few(endpoint, 0, trim_point.cmd, old.cmd, least)
    of_in, frames = _few(endpoint, 1, trim_point.inbox, old.inbox, least)
    return (
        Moves(tuple(dict.fromkeys(of_cmd + of_in)), commands, frames)
        if commands or frames
        else None
    )


def _few(
    endpoint: Endpoint, which: int, begin: int, end: int, least: int
) -> tuple[list[DialogKey], tuple[int, ...]]:
    """Return the oldest bodies that are needed of an input, and whose they are.

    Nothing where that would let little go, or where too much of it is needed.
    """
    if end - begin < least:
        return [], ()
    count, keys = endpoint.retention.below(which, end, AT_ONCE)
    if count * SHARE > end - begin:
        return [], ()
    needed: set[int] = set()
    for dialog in map(endpoint.dialogs.look, keys):
        if dialog is not None:
            positions = dialog.needed_frames() if which else dialog.needed_commands()
            needed.update(position for position in positions if position < end)
    few = len(needed) * SHARE <= end - begin
    return keys, tuple(sorted(needed)[:AT_ONCE]) if few else ()
