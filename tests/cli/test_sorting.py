"""Records of a dialog are sorted without keeping them in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from streams.cli.text import sorting
from streams.cli.text.records import what
from streams.cli.text.sorting import cut_body, sort_records
from streams.errors import UsageError
from streams.protocol import ERROR
from streams.wire.describe import Description

BODY = 200_000


def records(count: int) -> Iterator[Description]:
    """Yield records, the latest first."""
    for at in reversed(range(count)):
        yield {"at": at, "body": {"size": BODY, "text": f"\ud800{at:09}" + "x" * BODY}}


def place(record: Description) -> sorting.Order:
    return (record["at"], 0, "", 0, 0)


def test_large_records_are_sorted_outside_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_IN_MEMORY", BODY)
    tracemalloc.start()
    try:
        found = [record["body"]["text"][:10] for record in sort_records(records(100), place)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [f"\ud800{at:09}" for at in range(100)]
    assert peak < 20 * BODY


def test_what_is_sorted_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "MOST", 10 * BODY)
    with pytest.raises(UsageError, match="leave out --format json"):
        next(sort_records(records(10), place))


@pytest.mark.parametrize(
    "body",
    [
        {"size": 100_000, "text": "x" * 100_000},
        {"size": 100_000, "hex": "ff" * 100_000},
        {"size": 2, "text": "hi"},
        None,
        # 3,000 characters are the maximum of END WITH ERROR
        {"size": 1, "text": f"<Code>1</Code><Description>{'&quot;' * 3_000}</Description>"},
    ],
)
def test_a_cut_body_is_shown_like_the_whole_body(body: Description | None) -> None:
    message = {"type": ERROR, "flags": [], "sequence": 0, "fragments": 1}
    whole: Description = {"kind": "in", "message": message, "body": body}
    cut = cut_body(dict(whole))
    assert what(cut) == what(whole)
    assert len(str(cut["body"])) < 40_000
