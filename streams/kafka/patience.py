"""Time limits for calls of Kafka's client that may never return, despite their timeout.

``send_offsets_to_transaction`` ignores its timeout while the group's coordinator is down, and may
wait for minutes after another broker has become coordinator (librdkafka 2.16, issues 5456 and
5511). If Kafka no longer lists a broker, the client drops the broker but still uses it as the
cached coordinator. So later calls do not reach a broker either, and only a new client gets a
response.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

Call = Callable[[], object]

FIRST = 3.0
"""Time limit of such a call in seconds; an available coordinator responds within milliseconds."""
LONGEST = 24.0


class StuckError(Exception):
    """A call has not returned in time; its client is unusable."""


class _Caller:
    """A daemon thread that makes calls, one after the other."""

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
"""Idle threads for calls; starting a new thread for each call would take seven times as long."""


def _begin(call: Call) -> _Caller:
    """Start a call in a thread that returns to :data:`_idle` when the call has ended."""
    try:
        caller = _idle.pop()
    except IndexError:
        caller = _Caller()
    caller.calls.put(call)
    return caller


def in_time(call: Call, seconds: float) -> None:
    """Make a call in another thread, and raise its error.

    Raises StuckError if the call takes longer; the thread and its client are then abandoned, and a
    new client is needed.
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
    """The time limit of a client's calls: three seconds, doubled after each call that exceeds it.

    On a loaded machine a call may take longer, and if clients were always replaced too early, there
    would be no progress.
    """

    def __init__(self) -> None:
        self._seconds = FIRST

    def call(self, call: Callable[[], object], within: float | None = None) -> None:
        """Make a call as :func:`in_time` does, in the current time or at most ``within`` s."""
        try:
            in_time(call, min(self._seconds, LONGEST if within is None else within))
        except StuckError:
            self._seconds = min(2 * self._seconds, LONGEST)
            raise
        self._seconds = FIRST


class OneAtATime:
    """Make slow calls, one at a time, in a thread other than the caller's."""

    def __init__(self) -> None:
        self._caller: _Caller | None = None

    @property
    def is_busy(self) -> bool:
        """Return whether a call is still running, in which case its client must not be closed."""
        return self._caller is not None

    def call(self, call: Call, seconds: float) -> bool:
        """Make a call, and return whether it has ended within ``seconds``; raise its error.

        While an earlier call is running, do nothing and return immediately.
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
