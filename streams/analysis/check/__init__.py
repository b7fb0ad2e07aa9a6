"""Check a whole topology for errors, TA-01 to TA-50.

A check is a row of :data:`CHECKS`: its code, its subject and the function that yields its findings.
``docs/findings.md`` describes each check. The page is generated from the same rows and from the
topologies in ``tests/findings``, which contain, for each code, one topology with the finding and
one without it.
"""

from streams.analysis.check.registry import Check
from streams.analysis.check.run import Report, check_topology
from streams.analysis.check.sarif import report_sarif
from streams.analysis.check.suppress import Suppressed
from streams.analysis.check.table import CHECKS
from streams.analysis.check.text import page_text, report_text

__all__ = [
    "CHECKS",
    "Check",
    "Report",
    "Suppressed",
    "check_topology",
    "page_text",
    "report_sarif",
    "report_text",
]
