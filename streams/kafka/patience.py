"""Calls of Kafka's client that may never come back, whatever time they were given.

``send_offsets_to_transaction`` takes no notice of its timeout while the group's coordinator is
away, and may wait on for minutes when another broker has become it (librdkafka 2.16; its issues
5456 and 5511). A broker that Kafka no longer names is forgotten, but not that it was the
coordinator; so a call that begins when all is well again still asks nobody, and only another
client gets an answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

FIRST = 3.0
"""Seconds that such a call may take: a coordinator that is there answers in milliseconds."""
LONGEST = 24.0


class StuckError(Exception):
    """A call has not come back in time; its client is of no use any more."""


def in_time(call: Callable[[], object], seconds: float) -> None:
    """Make a call in a thread of its own, and raise what it raises.

    Raises StuckError where it takes longer: the thread and the client that it waits in are left
    behind, and it takes a new client to go on.
    """
    done, failed = threading.Event(), list[BaseException]()

    def make() -> None:
        try:
            call()
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    threading.Thread(target=make, name="in time", daemon=True).start()
    if not done.wait(seconds):
        raise StuckError(f"no answer within {seconds:g} s")
    if failed:
        raise failed[0]


class Patience:
    """How long a client's calls may take: three seconds, and twice as long with each replacement.

    On a machine so busy that a call takes longer, a client that is always replaced too early would
    never get anything done.
    """

    def __init__(self) -> None:
        self._seconds = FIRST

    def call(self, call: Callable[[], object], within: float = LONGEST) -> None:
        """Make a call as :func:`in_time` does, in no more than ``within`` seconds."""
        try:
            in_time(call, min(self._seconds, within))
        except StuckError:
            self._seconds = min(2 * self._seconds, LONGEST)
            raise
        self._seconds = FIRST
