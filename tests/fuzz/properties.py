"""What must hold of every script, whatever is in it; for hypothesis, atheris and kept inputs."""

from __future__ import annotations

from streams.errors import InputError
from streams.topology import Instance, empty_database
from streams.topology.decode import decode
from streams.topology.tsql import InstanceDraft, Notes, Reading, ScriptText, apply_script


def read(text: str, reading: Reading) -> tuple[Instance, Notes]:
    """Apply a script to an empty instance."""
    draft, notes = InstanceDraft(Instance("I", empty_database("I", "msdb"))), Notes()
    draft.ensure("DB")
    apply_script(draft, None, ScriptText(text, "script.sql"), 1.0, notes, reading)
    return draft.build(), notes


def check_script(data: bytes) -> None:
    """As-found reading raises nothing; strict reading InputError with a place, or it agrees."""
    text, _ = decode(data)
    found, notes = read(text, Reading.AS_FOUND)
    last = text.count("\n") + text.count("\r") + 1
    assert all(0 < place.line <= last and place.column > 0 for place in notes.skipped)
    assert all(0 < finding.line <= last for finding in notes.findings)
    try:
        strict, _ = read(text, Reading.STRICT)
    except InputError as error:
        assert 0 < error.line <= last and error.column > 0 and error.message
        return
    if not notes.remarks and '"' not in text:
        assert strict == found
