"""Parse T-SQL that concerns routing and dialogs: tokens, statements, and their effects.

:mod:`lexer` splits a script into batches of tokens, :mod:`walk` reads a batch statement by
statement, :mod:`table` contains the supported statements, and :mod:`apply` contains their effects.
"""

from streams.topology.tsql.apply import ScriptText, apply_script
from streams.topology.tsql.draft import DatabaseDraft, InstanceDraft, Notes
from streams.topology.tsql.lexer import Remark
from streams.topology.tsql.missing_objects import find_missing_objects
from streams.topology.tsql.script import NO_DATABASE
from streams.topology.tsql.sqlcmd import NO_VARIABLES, VARIABLE
from streams.topology.tsql.tokens import Reading

__all__ = [
    "NO_DATABASE",
    "NO_VARIABLES",
    "VARIABLE",
    "DatabaseDraft",
    "InstanceDraft",
    "Notes",
    "Reading",
    "Remark",
    "ScriptText",
    "apply_script",
    "find_missing_objects",
]
