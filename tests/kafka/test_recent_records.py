"""Where reading begins in a topic of which only recent records matter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from streams.kafka import start_before_newest


@pytest.mark.parametrize(("low", "start"), [(0, 40_000), (45_000, 45_000)])
def test_a_newest_record_that_the_client_never_returns_is_not_waited_for(
    low: int, start: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Any writer may have written it, and all processes that start begin with it."""
    consumer: Any = SimpleNamespace(
        get_watermark_offsets=lambda *_, **__: (low, 50_000),
        assign=lambda _: None,
        poll=lambda _: None,
    )
    assert start_before_newest(consumer, "ssb.presence", lambda _: 10.0) == (start, 50_000)
    assert "ssb.presence: Kafka has not returned the newest record, 49999" in caplog.text
