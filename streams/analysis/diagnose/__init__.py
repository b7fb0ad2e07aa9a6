"""Find the causes of stuck messages and leaked endpoints.

:func:`diagnose` checks the causes of :mod:`streams.analysis.diagnose.table` in order against a
snapshot, and compares the snapshot's rows with the decisions of :mod:`streams.routing`.
"""

from streams.analysis.diagnose.cause import Cause, Stage
from streams.analysis.diagnose.diagnose import diagnose
from streams.analysis.diagnose.errors import DIALOG_ERRORS, explain_error, explained_text
from streams.analysis.diagnose.messages import FLIGHT
from streams.analysis.diagnose.report import Diagnoses, Diagnosis
from streams.analysis.diagnose.status import Status, read_status
from streams.analysis.diagnose.table import CAUSES, LEAKS, QUEUES
from streams.analysis.diagnose.text import diagnoses_text

__all__ = [
    "CAUSES",
    "DIALOG_ERRORS",
    "FLIGHT",
    "LEAKS",
    "QUEUES",
    "Cause",
    "Diagnoses",
    "Diagnosis",
    "Stage",
    "Status",
    "diagnose",
    "diagnoses_text",
    "explain_error",
    "explained_text",
    "read_status",
]
