"""A Kafka cluster as destination, where there is none any more."""

from __future__ import annotations

import pytest

from streams.capture.destination import KafkaSink
from streams.errors import SurroundingsError
from streams.kafka import Cluster


def test_what_is_not_confirmed_in_time_has_failed_and_nothing_more_is_taken() -> None:
    sink = KafkaSink(Cluster("127.0.0.1:1"), timeout=1)
    said: list[str] = []
    sink.produce("t", b"k", b"v", (("h", None),), said.append)
    sink.produce("t", None, None, (), said.append)
    assert sink.flush() == 0
    assert len(said) == 2
    assert "timed out" in said[0]
    with pytest.raises(SurroundingsError, match="takes no more records") as caught:
        sink.produce("t", b"k", b"v", (), said.append)
    assert caught.value.remedy
    assert len(said) == 2
