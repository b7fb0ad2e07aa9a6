"""Alarms and their input, as values. :mod:`streams.store.alarms` decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

from streams.store.dialogs import Group, Which
from streams.store.freshness import Freshness
from streams.store.late import LateRows
from streams.store.links import Link
from streams.store.message_rows import Gap
from streams.store.missing import Missing
from streams.store.parked import Parked
from streams.store.rows import MalformedWindow, Repeat
from streams.store.state_rows import DialogSide, LagSample, Trouble


class Severity(IntEnum):
    """The severity of an alarm; larger is worse."""

    INFO = 1
    """For information; no action is needed."""
    WARNING = 2
    """To be checked today."""
    ERROR = 3
    """Messages are not delivered, or are delivered wrongly."""


class AlarmKind(Enum):
    """The kinds of alarms."""

    REPEAT = "repeat"
    GAP = "gap"
    MISSING = "missing messages"
    SEVERAL_TARGETS = "several targets"
    LINK_DOWN = "link down"
    STUCK = "stuck"
    UNLOCKED = "no target answers"
    FAILED = "dialogs in error"
    LEAKED = "leaked dialogs"
    IDLE = "idle dialogs"
    PARKED = "queue off"
    LAG = "lag"
    MALFORMED = "malformed records"
    LATE = "figures incomplete"
    BEHIND = "monitor behind"
    STALE = "figures old"


@dataclass(frozen=True, slots=True)
class Alarm:
    """One problem. ``what`` and ``remedy`` are sentences; ``where`` is a place.

    ``count`` is the number of messages, dialogs or records that ``what`` reports; ``since`` is the
    time at which the problem was first known; ``conversations`` contains some of the dialogs, for
    inspection.
    """

    severity: Severity
    kind: AlarmKind
    what: str
    where: str
    remedy: str
    count: int = 1
    since: int | None = None
    conversations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """The input for alarms."""

    fresh: Freshness
    repeats: Sequence[Repeat]
    refused: Sequence[Trouble]
    """Events of dialogs that a second target has answered (11224)."""
    refusing: Mapping[str, DialogSide]
    """The initiator sides of these dialogs, by conversation."""
    dialogs: Mapping[Which, Sequence[Group]]
    some: Mapping[Which, Sequence[DialogSide]]
    """A few example dialogs of each kind."""
    parked: Sequence[Parked]
    links: Sequence[Link]
    lags: Sequence[LagSample]
    """Samples of the last minute, by subject, oldest first."""
    malformed: Sequence[MalformedWindow]
    late: Sequence[LateRows]
    """What recent batches left out, oldest first."""
    missing: Sequence[Missing] = ()
    gaps: Sequence[Gap] = ()
