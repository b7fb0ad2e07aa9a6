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
from queue import Empty, SimpleQueue

Call = Callable[[], object]

FIRST = 3.0
"""Seconds that such a call may take: a coordinator that is there answers in milliseconds."""
LONGEST = 24.0


class StuckError(Exception):
    """A call has not come back in time; its client is of no use any more."""


class _Caller:
    """A thread that makes calls, one after the other; nobody waits for it when a process ends."""

    def __init__(self) -> None:
        self.calls, self.ended = SimpleQueue[Call](), SimpleQueue[BaseException | None]()
        threading.Thread(target=self._run, name="in time", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.ended.put(_failure(self.calls.get()))


def _failure(call: Call) -> BaseException | None:
    try:
        call()
    except BaseException as error:
        return error
    return None


_idle: list[_Caller] = []
"""Who waits for a call. A thread for each call took seven times as long."""


def _begin(call: Call) -> _Caller:
    """Let a thread make a call; who has seen it end gives the thread back to :data:`_idle`."""
    try:
        caller = _idle.pop()
    except IndexError:
        caller = _Caller()
    caller.calls.put(call)
    return caller


def in_time(call: Call, seconds: float) -> None:
    """Make a call in another thread, and raise what it raises.

    Raises StuckError where it takes longer: the thread and the client that it waits in are left
    behind, and it takes a new client to go on.
    """
    caller = _begin(call)
    try:
        failed = caller.ended.get(timeout=seconds)
    except Empty:
        raise StuckError(f"no answer within {seconds:g} s") from None
    _idle.append(caller)
    if failed is not None:
        raise failed


class Patience:
    """How long a client's calls may take: three seconds, and twice as long with each replacement.

    On a machine so busy that a call takes longer, a client that is always replaced too early would
    never get anything done.
    """

    def __init__(self) -> None:
        self._seconds = FIRST

    def call(self, call: Callable[[], object], within: float | None = None) -> None:
        """Make a call as :func:`in_time` does, in no more than ``within`` seconds."""
        try:
            in_time(call, min(self._seconds, LONGEST if within is None else within))
        except StuckError:
            self._seconds = min(2 * self._seconds, LONGEST)
            raise
        self._seconds = FIRST


class OneAtATime:
    """Calls that may take long, one at a time, beside the thread that makes them."""

    def __init__(self) -> None:
        self._caller: _Caller | None = None

    @property
    def is_busy(self) -> bool:
        """Tell whether a call has not come back yet: then its client must not be closed."""
        return self._caller is not None

    def call(self, call: Call, seconds: float) -> bool:
        """Make a call, and tell whether it has come back within so many seconds; raises its error.

        While an earlier one has not come back none is made, and nobody waits.
        """
        is_new = self._caller is None
        if self._caller is None:
            self._caller = _begin(call)
        try:
            failed = self._caller.ended.get(timeout=seconds if is_new else 0)
        except Empty:
            return False
        _idle.append(self._caller)
        self._caller = None
        if is_new and failed is not None:
            raise failed
        return is_new
