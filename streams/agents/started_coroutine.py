"""Run a coroutine without a task until it waits."""

from __future__ import annotations

import types
from collections.abc import Coroutine, Generator
from typing import Any


class Begun:
    """A coroutine that has run until its first wait, or to its end.

    ``done`` is True if the coroutine has ended; ``result`` is its return value.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._coroutine = coroutine
        self.done, self.result = False, None
        try:
            self._waits_for = coroutine.send(None)
        except StopIteration as end:
            self.done, self.result = True, end.value

    async def rest(self) -> Any:
        """Resume the coroutine where it waits."""
        return await _rest(self._coroutine, self._waits_for)


@types.coroutine
def _rest(coroutine: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    try:
        yield waits_for  # the wait that the coroutine has already requested from the loop
    except BaseException as error:  # for example, the waiting task was cancelled
        coroutine.throw(error)
        raise
    return (yield from coroutine)
