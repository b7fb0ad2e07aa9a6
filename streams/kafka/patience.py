"""Calls of Kafka's client that may never come back, whatever time they were given.

``send_offsets_to_transaction`` takes no notice of its timeout while the group's coordinator is
away, and may wait on for minutes when another broker has become it (librdkafka 2.16; its issues
5456 and 5511).
"""

from __future__ import annotations

import threading
from collections.abc import Callable


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
