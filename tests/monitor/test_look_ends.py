"""A sample reads ``presence`` to its end, also if compaction moves what it reads."""

from __future__ import annotations

from typing import Any, cast

import pytest

from streams.kafka import Cluster, Message
from streams.monitor import look
from streams.monitor.look import Eye
from streams.wire import Topics


@pytest.mark.parametrize(
    ("ends", "offsets", "read"),
    [
        ([3], [0, 1, 2], [0, 1, 2]),
        # The records 0 to 8 were removed, because there are later ones of the same instances.
        ([5, 12], [9, 10, 11], [9, 10, 11]),
        ([5, 12], [9, 20, 21], [9, 20]),
    ],
)
def test_heartbeats_that_compaction_has_replaced_are_read(
    monkeypatch: pytest.MonkeyPatch, ends: list[int], offsets: list[int], read: list[int]
) -> None:
    eye, topic = Eye(Cluster("127.0.0.1:1", Topics("look."))), "look.presence"
    left, found = [*offsets], list[int]()

    def next_of(*_: Any) -> Message:
        return Message(topic=topic, partition=0, offset=left.pop(0), value=b"")

    monkeypatch.setattr(look, "watermarks", lambda *_, **__: (0, ends.pop(0)))
    monkeypatch.setattr(look, "next_of", next_of)
    monkeypatch.setattr(Eye, "_read", lambda _, message: found.append(message.offset()))
    eye._consumer, eye._health = cast(Any, object()), cast(Any, None)
    eye._read_to_ends((topic,))
    eye._consumer = None
    assert (found, ends) == (read, [])
