"""Track blocks and branches to know which statements certainly run and which variables stay known.

Conditions are not evaluated. Statements under IF are applied if possible: CREATE if the object does
not exist, ALTER and DROP if it exists, without a warning otherwise. If IF has an ELSE, only the
first branch with an effect is applied. CATCH blocks are not applied.
"""

from __future__ import annotations

from enum import Enum, auto

from streams.topology.findings import Source
from streams.topology.procedures import Comparison
from streams.topology.tsql.cursor import Cursor
from streams.topology.tsql.statements import Choice
from streams.topology.tsql.variables import Changes, Variables


class Form(Enum):
    """The kind of a frame; blocks end with END, branches with their single statement."""

    BLOCK = auto()
    TRY = auto()
    CATCH = auto()
    THEN = auto()
    ELSE = auto()
    LOOP = auto()


_BLOCKS = (Form.BLOCK, Form.TRY, Form.CATCH)
_CONDITIONS = 8


class Frame:
    """One level of nesting; ``source``: the place of a condition that cannot be evaluated.

    ``other``: the variables that the first branch has changed, if this is the ELSE. What depends on
    the frames around this one is computed only once, because thousands of frames may be nested:
    ``guarded``: there is a condition; ``taken``: the innermost first branch; ``dead``: why
    statements here are not applied; ``compared``: the last comparisons. ``key``
    identifies a branch; ``around_key`` is that of the frame around this one.
    """

    def __init__(
        self,
        form: Form,
        around: Frame | None,
        source: Source | None,
        compared: Comparison | None = None,
    ) -> None:
        self.form, self.around, self.source = form, around, source
        self.around_key: object = around.key if around else None
        outer: tuple[Comparison, ...] = around.compared if around else ()
        self.compared: tuple[Comparison, ...] = (
            (*outer, compared)[-_CONDITIONS:] if compared else outer
        )
        self.choice = Choice(around.taken if around else None)
        self.guarded: bool = form is not Form.BLOCK or (around is not None and around.guarded)
        self.taken: Choice | None = None
        self.dead = ""
        self.other: Changes = {}
        self._enter()

    def otherwise(self, changed: Changes) -> None:
        """Continue with the ELSE; the first branch has changed these variables."""
        self.form = Form.ELSE
        self.compared = self.around.compared if self.around else ()
        self.other = changed
        self._enter()

    def _enter(self) -> None:
        self.key = object()
        around = self.around
        self.taken = around.taken if around else None
        self.dead = around.dead if around else ""
        if self.form is Form.THEN:
            self.taken = self.choice
        elif self.form is Form.CATCH:
            self.dead = self.dead or "CATCH"
        elif self.form is Form.ELSE and self.choice.effect:
            self.dead = self.dead or "ELSE"


class Blocks:
    """The frames around the next statement; ``outer`` contains the frames around dynamic SQL."""

    def __init__(self, variables: Variables, outer: Blocks | None = None) -> None:
        self.variables = variables
        self.outer = outer
        self.frames: list[Frame] = []
        self._around = outer.innermost if outer else None
        self._unknown: list[Frame] = []  # those whose condition has not been reported

    @property
    def innermost(self) -> Frame | None:
        """Return the frame around the next statement."""
        return self.frames[-1] if self.frames else self._around

    def open(
        self, form: Form, unknown: Source | None = None, compared: Comparison | None = None
    ) -> None:
        """Start a frame; ``unknown`` is the place of a condition that cannot be evaluated.

        ``compared``: the comparison that the condition makes.
        """
        frame = Frame(form, self.innermost, unknown, compared)
        if form not in (Form.BLOCK, Form.TRY):
            self.variables.branch()
        if unknown is not None:
            self._unknown.append(frame)
        self.frames.append(frame)

    def close(self) -> None:
        """End the innermost block, and the branches that still wait for a statement."""
        while self.frames:
            if self._pop().form in _BLOCKS:
                return

    def completed(self, cursor: Cursor) -> None:
        """End the branches whose statement has just ended, or continue with their ELSE."""
        while self.frames and self.frames[-1].form not in _BLOCKS:
            frame = self.frames[-1]
            behind = cursor.is_mark(";") and cursor.peek(1).upper == "ELSE"
            if frame.form is Form.THEN and (behind or cursor.is_words("ELSE")):
                cursor.at += 2 if behind else 1
                frame.otherwise(self.variables.undo())
                return
            self._pop()

    def _pop(self) -> Frame:
        frame = self.frames.pop()
        if frame.form not in (Form.BLOCK, Form.TRY):
            self.variables.merge(frame.other)
        if self._unknown and self._unknown[-1] is frame:
            self._unknown.pop()
        return frame

    def branch(self) -> tuple[Frame | None, object]:
        """Return the frame around the next statement, with the key of its branch."""
        frame = self.innermost
        return (None, None) if frame is None else (frame, frame.key)

    def compared(self) -> tuple[Comparison, ...]:
        """Return the last comparisons around the next statement."""
        return self.innermost.compared if self.innermost else ()

    def dead(self) -> str:
        """Return why statements here are not applied: CATCH, or ELSE after an applied branch."""
        return self.innermost.dead if self.innermost else ""

    def unknown(self) -> list[Source]:
        """Return the surrounding conditions that cannot be evaluated, each once."""
        outer = self.outer.unknown() if self.outer else []
        found, self._unknown = self._unknown, []
        return [*outer, *(frame.source for frame in found if frame.source is not None)]

    def under(self) -> tuple[Choice | None, bool]:
        """Return the choice that depends on an effect here, and whether there is a condition."""
        frame = self.innermost
        return (None, False) if frame is None else (frame.taken, frame.guarded)
