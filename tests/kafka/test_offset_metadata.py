"""What stands beside an offset, although Kafka's client reads on behind its end."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from streams.kafka import closed, note_of


@dataclass
class Found:
    """What Kafka's client has found: bytes that it takes for text when it is asked."""

    text: bytes | None

    @property
    def metadata(self) -> str | None:
        return None if self.text is None else self.text.decode()


@pytest.mark.parametrize("behind", [b"", b"5", b"FQ\x0f", b"\x81\xc5", b"\xff.\xc1", b". r9"])
@pytest.mark.parametrize("note", ["r0 5+2", "b46c5ee5-fa58-4093-8c57-9ecf547660ac r0", "12-15 20"])
def test_a_note_ends_where_it_says(note: str, behind: bytes) -> None:
    assert note_of(Found(closed(note).encode() + behind)) == note


def test_no_note_is_none() -> None:
    assert closed("") == note_of(Found(None)) == note_of(Found(b"")) == ""


def test_what_others_wrote_is_as_it_is() -> None:
    assert note_of(Found(b"somebody's")) == "somebody's"
    assert note_of(Found(b"somebody\xe4")) == "somebody\ufffd"
