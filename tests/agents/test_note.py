"""What stands beside an agent's offset is read again, and nothing else is."""

from __future__ import annotations

import uuid

import pytest

from streams.agents.note import Note

SOME = uuid.UUID(int=7)


@pytest.mark.parametrize(
    "note", [Note(), Note(uuid.UUID(int=7)), Note(uuid.UUID(int=2**128 - 1), 5)]
)
def test_it_is_read_as_it_was_written(note: Note) -> None:
    assert Note.decode(note.encode()) == note


@pytest.mark.parametrize("text", ["", "r2", "no id r2", f"{SOME} rx"])
def test_what_nobody_of_ours_wrote_says_nothing(text: str) -> None:
    assert Note.decode(text) == Note()
