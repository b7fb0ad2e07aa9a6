"""Statements that are held back because their schema has not been announced.

Such a statement and all statements after it in ``cmd`` wait; ``in`` and ``ack`` continue.
"""

from __future__ import annotations

import logging
import time

from streams.kafka import Consumer, Message, TopicPartition
from streams.workers.endpoint.partition import HeldBack, Partition

log = logging.getLogger("hopline.endpoint")

_AGAIN = 1.0
"""Seconds until a held-back statement is read again; its schema may be known by then."""


class HeldBackStatements:
    """Hold back statements of ``cmd`` by pausing ``consumer``, and retry them."""

    def __init__(self, home: str, cmd: str, consumer: Consumer) -> None:
        self._home, self._cmd, self._consumer = home, cmd, consumer

    def hold_back(self, owned: Partition, message: Message, why: str) -> None:
        """Hold a statement back; ``why`` is logged the first time."""
        offset = message.offset() or 0
        if owned.held_back is None or owned.held_back.offset != offset:
            log.error(
                "%s: %s. This statement and those after it wait. Another version wrote it. Run "
                "'hopline apply TOPOLOGY' of that version, which announces its schemas, or skip "
                "the statement with 'hopline skip PLACE'",
                self._home,
                why,
            )
        owned.held_back = HeldBack(offset, why, time.monotonic() + _AGAIN)
        self._consumer.pause([TopicPartition(message.topic() or "", owned.number)])

    def read_again(self, owned: Partition, clock: float) -> None:
        """Reread a held-back statement when its retry is due."""
        held, cmd = owned.held_back, self._cmd
        if held is None or held.let_in or clock < held.again_at:
            return
        held.let_in = True
        owned.pending = [m for m in owned.pending if m.topic() != cmd]
        self._consumer.seek(TopicPartition(cmd, owned.number, owned.positions[cmd]))
        self._consumer.resume([TopicPartition(cmd, owned.number)])

    def resume(self, owned: Partition) -> None:
        """Record that the statement was read, and continue after it."""
        owned.held_back = None
        log.warning("%s: %s/%d continues", self._home, self._cmd, owned.number)
