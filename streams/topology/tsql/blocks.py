"""Track blocks and branches to know which statements certainly run and which variables stay known.

Conditions are not evaluated. Statements under IF are applied if possible: CREATE if the object does
not exist, ALTER and DROP if it exists, without a warning otherwise. If IF has an ELSE, only the
first branch with an effect is applied. CATCH blocks are not applied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from streams.topology.findings import Source
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import Choice
from streams.topology.tsql.values import Known, Variables


class Form(Enum):
    """The kind of a frame; blocks end with END, branches with their single statement."""

    BLOCK = auto()
    TRY = auto()
    CATCH = auto()
    THEN = auto()
    ELSE = auto()
    LOOP = auto()


_BLOCKS = (Form.BLOCK, Form.TRY, Form.CATCH)


@dataclass(slots=True)
class Frame:
    """One level of nesting.

    ``before``: the variables at its start; ``otherwise``: the variables at the end of the other
    branch. ``source``: the place of a condition that has not been reported as unknown yet.
    """

    form: Form
    choice: Choice
    before: dict[str, Known] = field(default_factory=dict)
    otherwise: dict[str, Known] | None = None
    source: Source | None = None


class Blocks:
    """The frames around the next statement; ``outer`` contains the frames around dynamic SQL."""

    def __init__(self, variables: Variables, outer: Blocks | None = None) -> None:
        self.variables = variables
        self.outer = outer
        self.frames: list[Frame] = []

    def open(self, form: Form, unknown: Source | None = None) -> None:
        """Start a frame; ``unknown`` is the place of a condition that cannot be evaluated."""
        before = {} if form in (Form.BLOCK, Form.TRY) else dict(self.variables)
        self.frames.append(Frame(form, Choice(), before, source=unknown))

    def close(self) -> None:
        """End the innermost block, and the branches that still wait for a statement."""
        while self.frames:
            frame = self.frames.pop()
            self._merge(frame)
            if frame.form in _BLOCKS:
                return

    def completed(self, cursor: Cursor) -> None:
        """End the branches whose statement has just ended, or continue with their ELSE."""
        while self.frames and self.frames[-1].form not in _BLOCKS:
            frame = self.frames[-1]
            behind = cursor.is_mark(";") and cursor.peek(1).upper == "ELSE"
            if frame.form is Form.THEN and (behind or cursor.is_words("ELSE")):
                cursor.at += 2 if behind else 1
                frame.form = Form.ELSE
                frame.otherwise = dict(self.variables)
                self._set(frame.before)
                return
            self._merge(self.frames.pop())

    def _merge(self, frame: Frame) -> None:
        """Keep the variables that are the same whether or not the branch is taken."""
        if frame.form in (Form.BLOCK, Form.TRY):
            return
        other = frame.before if frame.otherwise is None else frame.otherwise
        self._set({k: v for k, v in self.variables.items() if k in other and other[k] == v})

    def _set(self, variables: dict[str, Known]) -> None:
        kept = dict(variables)
        self.variables.clear()
        self.variables.update(kept)

    def all_frames(self) -> list[Frame]:
        """Return every frame, outermost first."""
        return [*(self.outer.all_frames() if self.outer else ()), *self.frames]

    def dead(self) -> str:
        """Return why statements here are not applied: CATCH, or ELSE after an applied branch."""
        for frame in self.all_frames():
            if frame.form is Form.CATCH:
                return "CATCH"
            if frame.form is Form.ELSE and frame.choice.effect:
                return "ELSE"
        return ""

    def unknown(self) -> list[Source]:
        """Return the surrounding conditions that cannot be evaluated, each once."""
        found = [frame for frame in self.all_frames() if frame.source is not None]
        sources = [frame.source for frame in found if frame.source is not None]
        for frame in found:
            frame.source = None
        return sources

    def under(self) -> tuple[tuple[Choice, ...], bool]:
        """Return the choices that depend on an effect here, and whether there is a condition."""
        frames = self.all_frames()
        guarded = any(frame.form is not Form.BLOCK for frame in frames)
        return tuple(f.choice for f in frames if f.form is Form.THEN), guarded
