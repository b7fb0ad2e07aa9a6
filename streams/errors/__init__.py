"""All errors: exceptions, SQL Server's numbers, the broker's events.

Data never causes an exception: an undeliverable message is a verdict with a :class:`Number`, and an
invalid line of a topology is a finding. The exceptions here are for misuse and for a broken
environment. Each is reported with one clear sentence on stderr and an exit code, never with a
traceback.
"""

from streams.errors.event import CopyOutcome, Event, copy_outcome
from streams.errors.event_kinds import ConversationEvent, EventKind
from streams.errors.exceptions import HoplineError, InputError, SurroundingsError, UsageError
from streams.errors.numbers import Number, is_known, text_of

__all__ = [
    "ConversationEvent",
    "CopyOutcome",
    "Event",
    "EventKind",
    "HoplineError",
    "InputError",
    "Number",
    "SurroundingsError",
    "UsageError",
    "copy_outcome",
    "is_known",
    "text_of",
]
