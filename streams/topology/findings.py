"""Findings, and source places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Severity(Enum):
    """The severity of a finding, in descending order."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Source:
    """A place in a file; line and column are 1-based, 0 if unknown."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])


NOWHERE = Source()
"""The source of objects that are not from a file: defaults, and objects from a catalog."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of an analysis about a topology; ``code`` is ``TA-01`` to ``TA-50``."""

    code: str
    severity: Severity
    message: str
    remedy: str
    subject: str
    file: str = ""
    line: int = 0
    column: int = 0
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source(self) -> Source:
        """Return the place of the finding's subject."""
        return Source(self.file, self.line, self.column)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a dictionary with the keys of the JSON output."""
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "remedy": self.remedy,
            "subject": self.subject,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "evidence": dict(self.evidence),
        }


def finding_at(
    code: str,
    severity: Severity,
    message: str,
    remedy: str,
    subject: str,
    source: Source,
    evidence: Mapping[str, Any] | None = None,
) -> Finding:
    """Create a finding about an object with a place."""
    place = (source.file, source.line, source.column)
    return Finding(code, severity, message, remedy, subject, *place, evidence or {})


@dataclass(frozen=True, slots=True)
class Skipped:
    """A skipped statement of a script: its first words and its place.

    ``why``: the unknown part of an unresolved statement that may concern dialogs; empty if the
    statement does not concern dialogs. ``instance``: the script's instance.
    """

    kind: str
    file: str
    line: int
    column: int = 0
    why: str = ""
    instance: str = ""
