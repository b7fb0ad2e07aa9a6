"""The dialogs to account for: dialogs of applications, of one replay, or all dialogs."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass

from streams.report.parts import Began, Part
from streams.wire.job import tag_in, tag_of

LIVE = ""
"""The job name that represents statements of applications."""


def job_of(dialog: uuid.UUID, parts: Iterable[Part]) -> str:
    """Return the replay of a dialog, from its known parts.

    The BEGIN names the replay. If it was trimmed, the dialog's id contains the job's tag, provided
    that the replay assigned the id.
    """
    jobs = [part.job for part in parts if isinstance(part, Began)]
    return min(jobs) if jobs else tag_in(dialog) or LIVE


@dataclass(frozen=True, slots=True)
class DialogFilter:
    """The dialogs of ``job`` (:data:`LIVE` for applications), or all dialogs if it is None."""

    job: str | None = None

    def counts(self, job: str) -> bool:
        """Return whether dialogs of a job, given by name or tag, are accounted for."""
        return self.job is None or job == self.job or (self.job != LIVE and job == tag_of(self.job))


EVERYBODY = DialogFilter()
