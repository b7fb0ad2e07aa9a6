"""Lives are read in the background, kept, and read again, whatever Kafka does."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from streams.dashboard.lives import KEPT, Lives, Look
from streams.errors import SurroundingsError
from streams.live.life import Life

ONE = uuid.UUID(int=1)


class Stage:
    """A clock that a test moves, and work that a test lets be done."""

    def __init__(self) -> None:
        self.now = 1_000_000
        self.read = 0
        self.takes = 0
        self.away = False
        self.waiting: list[Callable[[], None]] = []
        self.lives = Lives(self._read, lambda: self.now, self.waiting.append)

    def _read(self, conversation: uuid.UUID) -> Life:
        self.read += 1
        self.now += self.takes
        if self.away:
            raise SurroundingsError("Kafka is away.")
        return Life(conversation, (), (), ())

    def look(self, conversation: uuid.UUID = ONE) -> Look:
        return self.lives.look(conversation)

    def work(self) -> None:
        while self.waiting:
            self.waiting.pop(0)()


def test_the_first_look_waits_for_nobody() -> None:
    stage = Stage()
    assert stage.look() == Look(reading=True)
    assert stage.look() == Look(reading=True)
    assert len(stage.waiting) == 1, "it is read once, however many look"
    stage.work()
    look = stage.look()
    assert look.life is not None and look.as_of == 1_000_000 and not look.reading


def test_it_is_read_again_after_a_pause_that_grows_with_what_reading_costs() -> None:
    stage = Stage()
    stage.takes = 2_000
    stage.look()
    stage.work()
    stage.now = 1_000_000 + 19_999
    assert not stage.look().reading
    stage.now += 1
    look = stage.look()
    assert look.reading and look.life is not None, "what is known stays while it is read again"


def test_what_is_known_outlives_a_kafka_that_is_away() -> None:
    stage = Stage()
    stage.look()
    stage.work()
    stage.away = True
    stage.now += 10_000
    stage.look()
    stage.work()
    look = stage.look()
    assert look.life is not None and look.as_of == 1_000_000
    assert look.trouble is not None and look.trouble.message == "Kafka is away."
    stage.away = False
    stage.now += 10_000
    stage.look()
    stage.work()
    assert stage.look().trouble is None


def test_an_error_of_ours_is_told_and_leaves_nobody_waiting() -> None:
    def fails(_: uuid.UUID) -> Life:
        raise ZeroDivisionError("by us")

    lives = Lives(fails, lambda: 0, lambda work: work())
    look = lives.look(ONE)
    assert look.trouble is not None and look.trouble.message == "ZeroDivisionError: by us"
    assert not look.reading


def test_only_the_last_few_are_kept() -> None:
    stage = Stage()
    for number in range(KEPT + 5):
        stage.look(uuid.UUID(int=number + 100))
    stage.work()
    before = stage.read
    stage.look(uuid.UUID(int=100))
    stage.work()
    assert stage.read == before + 1


def test_in_a_thread_of_its_own_too() -> None:
    lives = Lives(lambda c: Life(c, (), (), ()), lambda: 0)
    lives.look(ONE)
    look = lives.look(ONE)
    assert look.reading or look.life is not None
