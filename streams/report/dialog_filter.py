"""The dialogs to account for: those of applications, those of one replay, or all."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from streams.report.parts import Began, Part
from streams.wire.job import tag_in, tag_of

LIVE = ""
"""The job of applications' own statements."""


def job_of(dialog: uuid.UUID, parts: Iterable[Part]) -> str:
    """Return the replay of a dialog, from its known parts.

    Its BEGIN has it. If that was trimmed, the id has the job's tag, if the replay assigned it.
    """
    jobs = [part.job for part in parts if isinstance(part, Began)]
    return min(jobs) if jobs else tag_in(dialog) or LIVE


@dataclass(frozen=True, slots=True)
class DialogFilter:
    """The dialogs that count: of ``job`` (:data:`LIVE` for applications'), or all for None."""

    job: str | None = None

    def counts(self, job: str) -> bool:
        """Tell whether a dialog of that replay counts."""
        return self.job is None or job == self.job or (self.job != LIVE and job == tag_of(self.job))


EVERYBODY = DialogFilter()
