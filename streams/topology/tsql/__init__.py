"""T-SQL as far as it concerns routing and dialogs: tokens, statements, and what they change."""

from streams.topology.tsql.apply import apply_script
from streams.topology.tsql.draft import DatabaseDraft, InstanceDraft, Notes
from streams.topology.tsql.split import statements

__all__ = ["DatabaseDraft", "InstanceDraft", "Notes", "apply_script", "statements"]
