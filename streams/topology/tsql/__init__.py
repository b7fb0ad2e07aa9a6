"""T-SQL as far as it concerns routing and dialogs: tokens, statements, and what they change.

The steps of a script: :mod:`lexer` cuts it into batches of tokens, :mod:`walk` goes through a batch
statement by statement, :mod:`table` says which are understood, :mod:`apply` what they change.
"""

from streams.topology.tsql.apply import apply_script
from streams.topology.tsql.draft import DatabaseDraft, InstanceDraft, Notes
from streams.topology.tsql.lexer import Remark
from streams.topology.tsql.script import NO_DATABASE
from streams.topology.tsql.tokens import Reading

__all__ = [
    "NO_DATABASE",
    "DatabaseDraft",
    "InstanceDraft",
    "Notes",
    "Reading",
    "Remark",
    "apply_script",
]
