"""Suppressed findings, each with a reason and a last day."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase

from streams.topology.findings import NOWHERE, Finding, Source

SUPPRESSIONS_FILE = "suppressions.yaml"


@dataclass(frozen=True, slots=True)
class Suppression:
    """One entry of a suppressions file; ``until`` is the last valid day, in UTC.

    ``subject`` is a pattern (``ServerA/*``) for a finding's subject; names are case-insensitive.
    """

    code: str
    reason: str
    subject: str = "*"
    until: date | None = None
    source: Source = field(default=NOWHERE, compare=False)

    def covers(self, finding: Finding) -> bool:
        """Return whether the entry, expired or not, matches a finding."""
        return finding.code.casefold() == self.code.casefold() and fnmatchcase(
            finding.subject.casefold(), self.subject.casefold()
        )

    def expired(self, now: float) -> bool:
        """Return whether the last valid day is over; ``now`` is in epoch seconds."""
        return self.until is not None and datetime.fromtimestamp(now, UTC).date() > self.until
