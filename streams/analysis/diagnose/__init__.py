"""Why is this row stuck? The causes of stuck messages and leaked endpoints, asked in order.

:func:`diagnose` walks the tables of :mod:`streams.analysis.diagnose.table` over a snapshot; what
the rows say is held against what :mod:`streams.routing` would decide.
"""

from streams.analysis.diagnose.cause import Cause, Stage
from streams.analysis.diagnose.diagnose import diagnose
from streams.analysis.diagnose.messages import FLIGHT
from streams.analysis.diagnose.report import Diagnoses, Diagnosis
from streams.analysis.diagnose.status import Status, read_status
from streams.analysis.diagnose.table import CAUSES, LEAKS
from streams.analysis.diagnose.text import diagnoses_text

__all__ = [
    "CAUSES",
    "FLIGHT",
    "LEAKS",
    "Cause",
    "Diagnoses",
    "Diagnosis",
    "Stage",
    "Status",
    "diagnose",
    "diagnoses_text",
    "read_status",
]
