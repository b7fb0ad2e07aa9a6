"""What takes long: shown when it is there, told when it fails, asked again in any case."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from streams.dashboard.slow import Answer, Slow
from streams.errors import SurroundingsError


def failing(error: Exception) -> Callable[[], int]:
    def read() -> int:
        raise error

    return read


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SurroundingsError("Kafka is away."), "Kafka is away."),
        (KeyError("x"), "it could not be read (KeyError), see the log"),
    ],
)
def test_what_fails_is_told_and_asked_again(error: Exception, told: str) -> None:
    clock = [0]
    with ThreadPoolExecutor(1) as pool:
        slow = Slow(lambda: clock[0], keep=10, pool=pool)

        def settled(read: Callable[[], int]) -> Answer[int]:
            """Ask when it is time again, let what is under way end, and ask what is known then."""
            clock[0] += 10
            slow.get("key", read)
            pool.submit(int).result()
            return slow.get("key", read)

        assert settled(lambda: 1).value == 1
        failed = settled(failing(error))
        assert (failed.value, failed.trouble) == (1, told)
        recovered = settled(lambda: 2)
        assert (recovered.value, recovered.trouble) == (2, "")
