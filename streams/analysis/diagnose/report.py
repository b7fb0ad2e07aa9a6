"""A diagnosis, and the set of all diagnoses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from streams.analysis.diagnose.cause import Cause, Evidence, Stage
from streams.topology import Source
from streams.topology.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Rows with the same cause: their number, the oldest row's age in seconds, and the evidence.

    ``also``: later causes in the table that also apply. ``conversations`` contains a few of the
    dialogs, and ``sources`` contains the places of their rows.
    """

    cause: Cause[Any]
    at: str
    of: str
    to: str
    count: int
    oldest: float | None
    evidence: Evidence
    also: tuple[Cause[Any], ...] = ()
    conversations: tuple[UUID, ...] = ()
    sources: tuple[Source, ...] = ()

    @property
    def leak(self) -> bool:
        """Return whether the rows are endpoints, and not messages."""
        return self.cause.stage is Stage.LEAK

    @property
    def unread(self) -> bool:
        """Return whether the rows are messages in a queue."""
        return self.cause.stage is Stage.QUEUE

    @property
    def rows(self) -> str:
        """Return what is counted: ``messages`` are those of a transmission queue."""
        return "endpoints" if self.leak else "unread" if self.unread else "messages"

    def to_json(self) -> dict[str, Any]:
        """Return the diagnosis as a dictionary for JSON output."""
        return {
            "cause": self.cause.code,
            "stage": self.cause.stage.value,
            "title": self.cause.title,
            "severity": "error" if self.cause.bad else "info",
            "rows": self.rows,
            "count": self.count,
            "oldest_seconds": self.oldest,
            "at": self.at,
            "from": self.of,
            "to": self.to,
            "rule": self.cause.rule,
            "errors": list(self.cause.numbers),
            "remedy": self.cause.remedy,
            "evidence": list(self.evidence),
            "also": [cause.code for cause in self.also],
            "conversations": [str(conversation) for conversation in self.conversations],
            "rows_at": [str(source) for source in self.sources],
        }


@dataclass(frozen=True, slots=True)
class Diagnoses:
    """All diagnoses: stuck and unread messages, leaked dialogs, then rows that are not a problem.

    ``messages`` and ``endpoints``: the number of rows that were checked.
    """

    snapshot: Snapshot
    found: tuple[Diagnosis, ...]
    messages: int
    endpoints: int

    @property
    def good(self) -> bool:
        """Return whether no message is stuck or unread, and no endpoint leaks."""
        return not any(diagnosis.cause.bad for diagnosis in self.found)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a dictionary for JSON output."""
        live = self.snapshot.live.values()
        return {
            "instances": [i.name for i in live],
            "taken_at": {i.name: i.taken_at for i in live},
            "diagnoses": [diagnosis.to_json() for diagnosis in self.found],
            "missing": {i.name: list(i.missing) for i in live},
            "unread": {i.name: dict(i.unread) for i in live},
            "findings": [finding.to_json() for finding in self.snapshot.topology.findings],
            "summary": {
                "messages": self.messages,
                "stuck": self._sum("messages"),
                "endpoints": self.endpoints,
                "leaked": self._sum("endpoints"),
                "unread": self._sum("unread"),
            },
        }

    def _sum(self, rows: str) -> int:
        return sum(d.count for d in self.found if d.cause.bad and d.rows == rows)
