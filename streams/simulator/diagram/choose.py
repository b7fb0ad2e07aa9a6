"""Select the steps to draw by dialog and time; count and report the omitted steps."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from streams.diagram import Sight, seconds
from streams.errors import UsageError
from streams.prose import counted, listed
from streams.simulator.run import Simulation

_SHORTEST_ID = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """The selection: a dialog, by its name or conversation id, and a time span in microseconds."""

    dialog: str | None = None
    first: int | None = None
    last: int | None = None


def dialog_names(run: Simulation) -> dict[uuid.UUID, str]:
    """Return the name of each dialog: ``d``, or ``d/3`` if several dialogs have the same name."""
    return {
        conversation: name if len(conversations) == 1 else f"{name}/{number}"
        for name, conversations in run.dialogs.items()
        for number, conversation in enumerate(conversations)
    }


def chosen(
    sights: Sequence[Sight], choice: Choice, names: dict[uuid.UUID, str]
) -> tuple[list[Sight], list[str]]:
    """Return the steps to draw, and phrases with the number of omitted steps.

    Raises UsageError for an unknown dialog.
    """
    omitted: list[str] = []
    kept = list(sights)
    if choice.dialog is not None:
        wanted = _find(choice.dialog, names)
        mine = [s for s in kept if s.dialog is None or s.dialog in wanted]
        kept = _near(mine)
        omitted += _omission(len(sights) - len(mine), "of other dialogs")
        omitted += _omission(len(mine) - len(kept), "at other instances")
    if choice.first is not None:
        first = choice.first
        omitted += _omission(sum(s.at < first for s in kept), f"before {seconds(first)} s")
        kept = [s for s in kept if s.at >= first]
    if choice.last is not None:
        last = choice.last
        omitted += _omission(sum(s.at > last for s in kept), f"after {seconds(last)} s")
        kept = [s for s in kept if s.at <= last]
    return kept, omitted


def _near(sights: Sequence[Sight]) -> list[Sight]:
    """Omit events at instances that the dialog does not use."""
    met = {end[0] for s in sights if s.dialog is not None for end in s.ends}
    return [s for s in sights if s.dialog is not None or any(e[0] in met for e in s.ends)]


def _omission(count: int, where: str) -> list[str]:
    return [f"{counted(count, 'thing')} {where}"] if count else []


def _find(asked: str, names: dict[uuid.UUID, str]) -> set[uuid.UUID]:
    digits = "".join(c for c in asked.lower() if c not in "-{}")
    found = {c for c, name in names.items() if asked in (name, name.rpartition("/")[0])}
    if not found and len(digits) >= _SHORTEST_ID:
        found = {c for c in names if c.hex.startswith(digits)}
    if not found:
        raise UsageError(
            f"There is no dialog '{asked}' in this run.",
            f"Give one of: {listed(names.values())}; or the first {_SHORTEST_ID} characters of a "
            "conversation id.",
        )
    return found
