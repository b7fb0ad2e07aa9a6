"""The causes of stuck messages, in the order in which they are checked."""

from __future__ import annotations

from streams.analysis.diagnose import (
    brokers,
    classify,
    leaks,
    queues,
    security,
    sender,
    target,
    transport,
)
from streams.analysis.diagnose.case import Case
from streams.analysis.diagnose.cause import Cause
from streams.analysis.diagnose.leaks import Side
from streams.analysis.diagnose.queues import Unread

CAUSES: tuple[Cause[Case], ...] = (
    *brokers.SENDER,
    *sender.CAUSES,
    *classify.CAUSES,
    *security.CAUSES,
    *transport.CAUSES,
    *target.CAUSES,
)
"""The causes for a message in a transmission queue."""
QUEUES: tuple[Cause[Unread], ...] = queues.CAUSES
"""The causes for messages in a queue."""
LEAKS: tuple[Cause[Side], ...] = leaks.CAUSES
"""The causes for a conversation endpoint."""
