"""Limit the messages in flight to each destination, and choose the dialogs that transmit next.

A window limits the messages in flight of one dialog. With many dialogs that window is not enough:
their messages wait for minutes in the topics along the path, and every new message waits behind
them. A flow is everything that the dialogs of one service in a partition send to one destination (a
service and a broker id), and has its own limit. In a full flow, new messages wait in `cmd`; only a
dialog with few messages in flight transmits when it accepts a message, so no new dialog waits
behind a backlog.

The destination includes the broker id because an application can name any id, and messages to a
nonexistent broker must not delay messages to the real broker. The sending service counts, too: if
the target has no route back to a service, no dialog of this service is acknowledged, and its
messages must not delay those of other services. Flows take turns, so that thousands of other flows
do not delay a flow either.

A flow is *stalled* when a retry was due and no acknowledgement for the flow has arrived since the
previous attempt. Then only a few messages are transmitted, to detect when the other side is back:
retries, what is sent on dialogs that retry and have few messages in flight, and a hundred messages
of other dialogs. The first acknowledgement ends the stall: the dialogs that retried during the
stall retry again at their next turn, without waiting for the end of their back-off. This
acknowledgement may be for a copy that arrived out of order: after a long absence the oldest copies
have expired, and later ones arrive.

The state contains no flows; a restarted worker counts the messages in flight again.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest

from streams.node.endpoint.dialogs import Destination, Kept
from streams.node.endpoint.oldest import Oldest
from streams.protocol import Dialog, Limits, State
from streams.routing import broker_key

UNLIMITED = sys.maxsize
PROBES = 100
"""Messages in flight to a stalled service, besides the retries of each dialog."""
MOST = 1_000
"""Maximum number of idle flows in memory, because applications choose their names."""
AT_ONCE = 100
"""Maximum number of flows served per transaction, because each reads another part of ``cmd``."""
FIRST = 4
"""A dialog with fewer messages in flight transmits immediately even if its flow is full."""
SHARE, EVERY = 64, 100
"""A full flow may add 1/SHARE of the limit every EVERY milliseconds.

Otherwise, immediately transmitted messages could starve waiting messages.
"""


def destination(dialog: Dialog) -> Destination:
    """Return the destination of a dialog's messages."""
    broker = broker_key(dialog.far_broker or "")
    return dialog.far_service, broker, dialog.database, dialog.service


@dataclass(slots=True)
class Flow:
    """The dialogs of a service that send to one destination, ``where``.

    ``in_flight`` counts messages of dialogs that are not retrying. ``lost`` has the dialogs that
    retried while the flow was stalled. ``waiting`` has the other dialogs whose window has room for
    accepted messages, with the position of the next message in ``cmd``. Times are epoch
    milliseconds.
    """

    where: Destination
    in_flight: int = 0
    stalled: bool = False
    acknowledged_at: int = 0
    added_at: int = 0
    waiting: Oldest[Kept] = field(default_factory=Oldest)
    lost: dict[Kept, None] = field(default_factory=dict)

    def turns(self, most: int) -> Iterable[Kept]:
        """Return up to ``most`` dialogs: ``lost`` unless stalled, then ``waiting`` by position."""
        lost = [] if self.stalled else list(islice(self.lost, most))
        return chain(lost, self.waiting.first(most - len(lost)))

    @property
    def wanting(self) -> int:
        """Return how many turns the flow's dialogs want."""
        return len(self.waiting) + (0 if self.stalled else len(self.lost))


class Flows:
    """The flows of a partition; at most ``limit`` messages are in flight in each.

    The caller that commits transmissions may change the limit.
    """

    def __init__(self, limits: Limits, limit: int = UNLIMITED) -> None:
        self.limit = limit
        self._limits = limits
        self._flows: dict[Destination, Flow] = {}
        self._wanting: dict[Destination, Flow] = {}
        """The flows that want turns; the flow that has waited longest is first."""

    def of(self, dialog: Dialog) -> Flow:
        """Return the flow of a dialog."""
        return self.towards(destination(dialog))

    def towards(self, where: Destination) -> Flow:
        """Return the flow to a destination."""
        flow = self._flows.get(where)
        if flow is None:
            flow = self._flows[where] = Flow(where)
        return flow

    def admits(self, dialog: Dialog) -> bool:
        """Return whether a dialog transmits a message as soon as it accepts the message.

        Such messages may exceed the flow's limit by half. Turns take more CPU time, so a steady
        load that just fills the flow must not cause them. In a stalled flow, only a dialog that
        retries transmits immediately, as long as it has few messages in flight; other dialogs take
        turns.
        """
        flow = self._flows.get(destination(dialog))
        if flow is None:  # not created yet: the dialog may first be locked to a broker id
            return True
        if flow.stalled:
            few = max(FIRST, PROBES // max(1, len(flow.lost)))
            return dialog.is_retrying and dialog.count_in_flight() < few
        return flow.in_flight < self.limit + self.limit // 2 or dialog.count_in_flight() < FIRST

    def room(self, flow: Flow, now: int) -> int:
        """Return how many more messages of the flow may be in flight."""
        limit = min(PROBES, self.limit) if flow.stalled else self.limit
        if flow.in_flight < limit:
            return limit - flow.in_flight
        return max(1, limit // SHARE) if now >= flow.added_at + EVERY else 0

    def turn(self, most: int, now: int) -> Iterator[Kept]:
        """Yield up to ``most`` dialogs that may transmit now, one dialog of each flow in turn.

        Flows that got no turn are first at the next call.
        """
        able = (
            (where, flow, min(room, flow.wanting))
            for where, flow in self._wanting.items()
            if (room := self.room(flow, now)) > 0
        )
        # full flows do not take a turn from other flows
        have_turns = list(islice(able, min(most, AT_ONCE)))
        for where, *_ in have_turns:
            self._wanting[where] = self._wanting.pop(where)
        rounds = _rounds([wanted for _, _, wanted in have_turns], most)
        turns = zip_longest(*(flow.turns(min(wanted, rounds)) for _, flow, wanted in have_turns))
        yield from islice((kept for keys in turns for kept in keys if kept is not None), most)

    def has_turn(self, now: int) -> bool:
        """Return whether any dialog may transmit now."""
        return any(self.room(flow, now) > 0 for flow in self._wanting.values())

    @property
    def has_retry(self) -> bool:
        """Return whether a dialog may retry at its turn, because a stall has ended."""
        return any(flow.lost and not flow.stalled for flow in self._wanting.values())

    @property
    def waits(self) -> bool:
        """Return whether any dialog wants to transmit, now or later."""
        return bool(self._wanting)

    # --- committed changes -----------------------------------------------------------------------

    def answer(self, where: Destination, now: int) -> None:
        """Note that a destination has acknowledged a copy, which need not be a dialog's oldest."""
        flow = self.towards(where)
        flow.acknowledged_at, flow.stalled = now, False
        self._note_wanting(where, flow)

    def note(self, kept: Kept, before: Dialog | None, dialog: Dialog, *, hurried: bool) -> None:
        """Account for a committed dialog; ``hurried``: it has retried at its turn."""
        where = destination(dialog)
        flow = self.towards(where)
        is_retrying, was_lost = dialog.is_retrying, kept in flow.lost
        if before is not None:
            if (former := destination(before)) != where:  # the target's broker id is now known
                was_lost = kept in self.towards(former).lost
                self._leave(kept, former)
            self._judge(flow, before, dialog)
        elif is_retrying:  # the dialog was retrying when the worker started
            flow.stalled = True
        counts = hurried or not (is_retrying or dialog.status)
        self._count(kept, flow, dialog.transmitted[0] - dialog.acknowledged[0] if counts else 0)
        if is_retrying and not hurried and (flow.stalled or was_lost):
            flow.lost[kept] = None  # an existing entry keeps its turn
        else:
            flow.lost.pop(kept, None)
        # Messages in flight of a lost dialog are not counted, so that it could fill its window.
        if dialog.has_room(self._limits) and kept not in flow.lost:
            flow.waiting.put(kept, dialog.next_position)
        else:
            flow.waiting.drop(kept)
        kept.where = flow.where if kept in flow.waiting or kept in flow.lost else None
        self._note_wanting(where, flow)

    def forget(self, kept: Kept, dialog: Dialog) -> None:
        """Account for a removed dialog."""
        self._leave(kept, destination(dialog))

    def drop_waiting(self, kept: Kept, where: Destination) -> None:
        """Note that no message of a dialog is waiting after all."""
        flow = self.towards(where)
        flow.waiting.drop(kept)
        self._note_wanting(where, flow)

    def _leave(self, kept: Kept, where: Destination) -> None:
        flow = self.towards(where)
        self._count(kept, flow, 0)
        flow.waiting.drop(kept)
        flow.lost.pop(kept, None)
        self._note_wanting(where, flow)
        if len(self._flows) > MOST and not (flow.in_flight or flow.waiting or flow.lost):
            del self._flows[where]

    def _note_wanting(self, where: Destination, flow: Flow) -> None:
        if flow.wanting:
            self._wanting.setdefault(where, flow)
        else:
            self._wanting.pop(where, None)

    def _judge(self, flow: Flow, before: Dialog, dialog: Dialog) -> None:
        """Stall the flow if a retry was due without an answer since the previous attempt."""
        if before.retry_at is None or dialog.state is State.CD:
            return
        if dialog.attempt > before.attempt:
            tried_at = before.retry_at - self._limits.retry_after(before.attempt)
            flow.stalled = flow.stalled or flow.acknowledged_at <= tried_at

    @staticmethod
    def _count(kept: Kept, flow: Flow, count: int) -> None:
        flow.in_flight += count - kept.in_flight
        kept.in_flight = count


def _rounds(wanted: Sequence[int], most: int) -> int:
    """Return the number of rounds, with one turn per flow, in which ``most`` turns are taken."""
    longest = max(wanted, default=0)
    return bisect_left(range(longest), most, key=lambda n: sum(min(each, n) for each in wanted))
