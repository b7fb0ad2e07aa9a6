"""A script while it is written: its lines, and what it has to leave out."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams.topology.export.quoting import bracket
from streams.topology.objects import (
    Binding,
    Contract,
    MessageType,
    Priority,
    Queue,
    Route,
    Service,
)
from streams.topology.security import Certificate, Grant

Item = MessageType | Contract | Queue | Service | Route | Priority | Binding | Certificate | Grant


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that the script does not say, and why.

    ``item`` is an object that ``topology.yaml`` can say instead; ``lost`` where it can neither.
    """

    subject: str
    what: str
    why: str
    item: Item | None = None
    lost: bool = False

    def __str__(self) -> str:
        return f"{self.subject}: {self.what}: {self.why}"


@dataclass(slots=True)
class Script:
    """Lines of T-SQL about ``subject``, ``INSTANCE`` or ``INSTANCE/DATABASE``."""

    subject: str
    lines: list[str] = field(default_factory=list)
    left: list[LeftOut] = field(default_factory=list)
    _batch: bool = False

    @property
    def text(self) -> str:
        """Return the script."""
        return "".join(f"{line}\n" for line in self.lines)

    def add(self, *lines: str) -> None:
        """Add the lines of one statement."""
        self.lines.extend(lines)
        self._batch = True

    def comment(self, text: str) -> None:
        """Add a comment: one line, whatever the names in it hold."""
        self.lines.append("-- " + " ".join(text.split()))

    def go(self) -> None:
        """End a batch, unless there is no statement in it."""
        if self._batch:
            self.lines.append("GO")
            self._batch = False

    def use(self, database: str) -> None:
        """Go to a database."""
        self.add(f"USE {bracket(database)};")
        self.go()

    def leave_out(self, what: str, why: str, item: Item | None = None) -> None:
        """Say that an object is not created; without ``item`` it is lost."""
        self.comment(f"left out: {what}: {why}")
        self.left.append(LeftOut(self.subject, what, why, item, lost=item is None))

    def note(self, what: str, why: str, *, lost: bool = False) -> None:
        """Say something that T-SQL has no words for."""
        self.comment(f"{what}: {why}")
        self.left.append(LeftOut(self.subject, what, why, lost=lost))
