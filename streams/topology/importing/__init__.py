"""Convert scripts and snapshots into a topology folder, and report the result.

:mod:`arguments` reads the options, :mod:`folder` writes the files, and :mod:`report` reports which
statements were understood. No other part of ``topology`` writes files.
"""

from streams.topology.importing.arguments import Imported, SourceFile, combined, imported_instances
from streams.topology.importing.folder import write_folder
from streams.topology.importing.report import ImportReport, report_of
from streams.topology.importing.text import report_text
from streams.topology.tsql import VARIABLE

__all__ = [
    "VARIABLE",
    "ImportReport",
    "Imported",
    "SourceFile",
    "combined",
    "imported_instances",
    "report_of",
    "report_text",
    "write_folder",
]
