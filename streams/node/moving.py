"""Which bodies pin too much of a log, and are better copied to its end (design rule 5).

A log begins with the oldest body that is still needed, however much lies behind it that nobody
needs. A few such bodies are written once more, at the end; the state says then where they are now.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streams.node.endpoint import Endpoint
from streams.node.groups import DialogKey
from streams.node.needs import Spare
from streams.protocol import Dialog

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


def moves_of(endpoint: Endpoint, spare: Spare, old: Spare, least: int = TOO_MUCH) -> Moves | None:
    """Return what is better moved, if anything is.

    The inputs may begin at ``spare``; for their age, everything below ``old`` could go.
    """
    cmd = old.cmd if old.cmd - spare.cmd >= least else 0
    inbox = old.inbox if old.inbox - spare.inbox >= least else 0
    most = max(cmd - spare.cmd, inbox - spare.inbox) // SHARE
    keys = endpoint.needs.below(cmd, inbox, most) if cmd or inbox else None
    dialogs = {key: endpoint.dialogs.look(key) for key in keys or ()}
    known = [d for d in dialogs.values() if d is not None]
    commands = _few((p for d in known for p in d.needed_commands() if p < cmd), cmd - spare.cmd)
    frames = _few((p for d in known for p in d.needed_frames() if p < inbox), inbox - spare.inbox)
    if not commands and not frames:
        return None
    chosen = {*commands}, {*frames}
    mine = (k for k, d in dialogs.items() if d is not None and _has(d, *chosen))
    return Moves(tuple(mine), commands, frames)


def _few(positions: Iterable[int], gained: int) -> tuple[int, ...]:
    """Return the lowest positions, or nothing where there are too many for what is gained."""
    found = sorted({*positions})
    return tuple(found[:AT_ONCE]) if len(found) * SHARE <= gained else ()


def _has(dialog: Dialog, commands: set[int], frames: set[int]) -> bool:
    return not (
        commands.isdisjoint(dialog.needed_commands()) and frames.isdisjoint(dialog.needed_frames())
    )
