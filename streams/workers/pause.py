"""The moment between two transactions of one producer.

When Kafka has confirmed a commit it still writes the transaction's markers. A transaction that
begins before they are written is refused, and the client asks again after 20 ms only
(CONCURRENT_TRANSACTIONS, librdkafka 2.16): under load, each one would take that much longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SETTLING = 0.003
"""Seconds in which a broker that is not overloaded has written them."""


class Pause:
    """Waits where one transaction would follow another too closely; times are monotonic seconds."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._until = float("-inf")

    def begin(self) -> None:
        """Note that a transaction has ended just now."""
        self._until = self._clock() + SETTLING

    def end(self) -> None:
        """Return when the next one may begin."""
        left = self._until - self._clock()
        if left > 0:
            self._sleep(left)
