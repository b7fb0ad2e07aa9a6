"""Slow queries: read beside the page, kept, reported when they fail, retried in any case."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from streams.dashboard.pages.dialog import weight_of
from streams.dashboard.slow import BUSY, KEPT, ROOM, WAITING, CachedResult, Slow
from streams.errors import SurroundingsError
from streams.live.life import Life

START = 1_000_000


class Stage:
    """A clock that a test moves, and work that a test lets be done."""

    def __init__(self) -> None:
        self.now = START
        self.read = self.takes = 0
        self.size = 1
        self.error: Exception | None = None
        self.waiting: list[Callable[[], None]] = []
        self.slow = Slow(lambda: self.now, lambda _: self.size, self.waiting.append, patience=0.0)

    def _read(self) -> int:
        self.read += 1
        self.now += self.takes
        if self.error is not None:
            raise self.error
        return self.read

    def look(self, key: int = 0) -> CachedResult[int]:
        return self.slow.get(key, self._read)

    def work(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()

    def again(self) -> CachedResult[int]:
        """Look when it is time again, let be read, and look at what is known then."""
        self.now += 100_000
        self.look()
        self.work()
        return self.look()


def test_a_page_shows_the_rest_while_it_is_read() -> None:
    stage = Stage()
    assert stage.look() == stage.look() == CachedResult(reading=True)
    assert len(stage.waiting) == 1, "it is read once, however many look"
    stage.work()
    assert stage.look() == CachedResult(1, START, 0, START)


def test_it_is_read_again_after_a_pause_that_grows_with_what_reading_costs() -> None:
    stage = Stage()
    stage.takes = 2_000
    stage.look()
    stage.work()
    stage.now = START + 19_999
    assert not stage.look().reading
    stage.now += 1
    assert stage.look() == CachedResult(1, START, 2_000, START, reading=True), "what is known stays"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SurroundingsError("Kafka is away."), "Kafka is away."),
        (KeyError("x"), "It could not be read (KeyError); see the log."),
    ],
)
def test_a_failure_is_reported_with_its_time_and_retried(error: Exception, message: str) -> None:
    stage = Stage()
    assert stage.again().value == 1
    stage.error = error
    first, second = stage.again(), stage.again()
    assert first.trouble is not None and first.trouble.message == message
    assert second.trouble == first.trouble and second.tried_at != first.tried_at
    assert (second.value, second.reading) == (1, False), "what is known outlives it"
    stage.error = None
    assert stage.again().trouble is None


def test_only_the_last_few_are_kept() -> None:
    stage = Stage()
    for key in range(KEPT + 1):
        stage.look(key)
        stage.work()
    assert stage.look(KEPT).value and not stage.look(0).value


def test_of_what_is_large_only_the_last_one_is_kept() -> None:
    stage = Stage()
    stage.size = ROOM
    for key in (1, 2):
        stage.look(key)
        stage.work()
    assert stage.look(2).value and not stage.look(1).value


def test_only_a_few_readings_wait_and_other_pages_report_that_it_is_busy() -> None:
    """The pages of random dialogs, requested by a foreign page, occupied the readers for hours."""
    stage = Stage()
    stage.look(0)
    stage.work()
    stage.now += 100_000
    for key in range(1, 1_000):
        stage.look(key)
    assert len(stage.waiting) == WAITING
    busy, known = stage.look(1_000), stage.look(0)
    assert (busy.value, busy.reading, busy.trouble and busy.trouble.message) == (None, False, BUSY)
    assert (known.value, known.trouble and known.trouble.message) == (1, BUSY), "it is still cached"
    stage.now += 1_000
    assert stage.look(0).trouble == known.trouble, "with the time at which it began"
    stage.work()
    stage.look(0)
    assert len(stage.waiting) == 1, "it is still due"
    stage.work()
    assert stage.look(0).value == WAITING + 2 and stage.look(0).trouble is None


def test_a_reading_that_was_evicted_while_it_waited_is_skipped() -> None:
    stage = Stage()
    stage.size = ROOM + 1
    stage.look(1)
    stage.look(2)
    stage.waiting.pop()()
    assert stage.look(2).value == 1, "this result is so large that the other key is evicted"
    stage.work()
    assert stage.read == 1
    stage.look(1)
    stage.work()
    assert stage.look(1).value == 2


def test_a_dialog_weighs_the_bytes_of_its_records() -> None:
    """Some steps of large records take much more memory than the same number of other steps."""
    assert weight_of(Life(uuid.UUID(int=1), (), (), (), size=ROOM * 3_000)) == ROOM


def test_in_threads_of_its_own_a_page_waits_a_little_for_it() -> None:
    assert Slow(lambda: START, patience=60.0).get("key", lambda: 7).value == 7
