"""The rounds in which the records of a transaction are produced."""

from __future__ import annotations

import threading
from typing import Any

from streams.wire import Topics
from streams.workers.endpoint.output import Output
from streams.workers.endpoint.rounds import ROUND, Rounds

HALF = b"x" * (ROUND // 2)


def rounds(*records: tuple[str, bytes | None]) -> list[list[tuple[Any, ...]]]:
    """Return the rounds of records."""
    made = Rounds()
    for record in records:
        made.add(*record, record)
    return list(made)


def test_what_fits_into_one_request_of_each_topic_is_one_round() -> None:
    """Topics do not count together: each has a request of its own."""
    records = [("a", HALF), ("b", HALF), ("a", None), ("b", None)]
    assert rounds(*records) == [records]


def test_a_topic_has_no_more_bytes_in_a_round_than_a_request() -> None:
    """The overhead of a record counts; the next round has room for other topics, too."""
    first, second = rounds(("a", HALF), ("a", HALF), ("b", HALF), ("a", b"last"))
    assert first == [("a", HALF), ("b", HALF)]
    assert second == [("a", HALF), ("a", b"last")]


def test_many_small_records_are_divided_in_their_order() -> None:
    """Records without value take their overhead: 2,500 of them fill a request."""
    made = rounds(*(("a", b"%d" % n if n else None) for n in range(6_000)))
    assert [len(each) > 2_000 for each in made] == [True, True, False]
    values = [value for each in made for _, value in each]
    assert values == [None, *(b"%d" % n for n in range(1, 6_000))]


def test_a_record_larger_than_a_request_is_alone() -> None:
    """No round is empty on its behalf."""
    assert rounds(("a", HALF + HALF), ("a", b"")) == [[("a", HALF + HALF)], [("a", b"")]]


class Notes:
    """A producer that notes what is produced between two flushes."""

    def __init__(self) -> None:
        self.flushed: list[list[Any]] = []
        self.open: list[Any] = []

    def produce(self, topic: str, value: bytes, *_: Any) -> None:
        """Note a record."""
        self.open.append((topic, value))

    def flush(self, timeout: float) -> int:
        """Begin a new list."""
        assert timeout > 0
        self.flushed.append(self.open)
        self.open = []
        return 0


def test_each_round_is_confirmed_before_the_next_one_is_produced() -> None:
    """Otherwise the client polls its socket until Kafka has confirmed the first."""
    notes = Notes()
    output = Output(Topics("t"), "A", notes, threading.Event())  # type: ignore[arg-type]
    for topic, value in [("a", HALF), ("a", HALF), ("b", HALF)]:
        output._write(topic, None, value)
    output.send()
    assert notes.flushed == [[("a", HALF), ("b", HALF)], [("a", HALF)]]
    output.begin()
    output.send()
    assert notes.flushed[2:] == []
