"""Retry calls to a group coordinator that is being elected or moved."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

MOVES = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
    }
)
"""Errors of a broker with groups that were just created or are being moved."""

Answer = TypeVar("Answer")


def while_coordinator_moves(
    call: Callable[[], Answer], patience: float, pause: Callable[[], object]
) -> Answer:
    """Repeat a call, with pauses, until the coordinator is available, for ``patience`` seconds.

    Raises the call's KafkaException on any other error, and after ``patience`` seconds.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return call()
        except KafkaException as error:
            if error.args[0].code() not in MOVES or time.monotonic() > deadline:
                raise
        pause()
