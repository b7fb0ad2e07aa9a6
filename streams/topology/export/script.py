"""A script under construction: its lines and omissions."""

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
    """An object that the script leaves out, and the reason.

    ``item`` is an object that ``topology.yaml`` can express instead; ``lost``: ``topology.yaml``
    cannot express it either.
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
        """Add a one-line comment, even if its names contain line breaks."""
        self.lines.append("-- " + " ".join(text.split()))

    def go(self) -> None:
        """End a batch, unless it is empty."""
        if self._batch:
            self.lines.append("GO")
            self._batch = False

    def use(self, database: str) -> None:
        """Switch to a database."""
        self.add(f"USE {bracket(database)};")
        self.go()

    def leave_out(self, what: str, why: str, item: Item | None = None) -> None:
        """Record that an object is not created; without ``item``, the object is lost."""
        self.comment(f"left out: {what}: {why}")
        self.left.append(LeftOut(self.subject, what, why, item, lost=item is None))

    def note(self, what: str, why: str, *, lost: bool = False) -> None:
        """Add a comment about a property that T-SQL cannot express."""
        self.comment(f"{what}: {why}")
        self.left.append(LeftOut(self.subject, what, why, lost=lost))
