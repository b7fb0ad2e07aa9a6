"""How much is in flight towards each service, and which dialogs transmit next.

A window bounds what one dialog has in flight. With many dialogs that bounds nothing: what they all
transmit at once waits in the topics between here and there, for minutes, and every new message
waits behind it. A flow is what the dialogs of a partition send to one service, and has a bound of
its own. It holds for what waits in `cmd`; a message before which no other one waits is transmitted
when it is accepted.

A flow is *stalled* when a retry was due and nothing of the flow had been acknowledged since the
attempt before. Then only a few messages are transmitted, to find out when the other side is back;
all others wait. The first acknowledgement ends that: the dialogs that were retried in the meantime
retry at once, each at its turn, and not when their back-off ends.

None of this is in the state: a worker that starts counts anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest

from streams.node.endpoint.oldest import Oldest
from streams.protocol import Dialog, DialogKey, Limits, State

UNLIMITED = sys.maxsize
PROBES = 100
"""Messages in flight towards a service that is stalled, beside the retries of each dialog."""
MOST = 1_000
"""So many flows are remembered although nothing is in flight: services' names come from outside."""
SHARE, EVERY = 64, 100
"""However much is in flight, one in so many of the limit may be added every so many milliseconds:
what waits must not starve behind what is accepted and transmitted at once."""


@dataclass(slots=True)
class Flow:
    """The dialogs towards one service; ``in_flight`` counts messages of those that are not retried.

    ``waiting`` are dialogs whose window has room for accepted messages, each where the next one is
    in ``cmd``; ``lost`` those that were retried while the flow was stalled. Times are epoch
    milliseconds.
    """

    in_flight: int = 0
    stalled: bool = False
    acknowledged_at: int = 0
    added_at: int = 0
    waiting: Oldest[DialogKey] = field(default_factory=Oldest)
    lost: dict[DialogKey, None] = field(default_factory=dict)

    def turns(self, most: int) -> Iterable[DialogKey]:
        """Return up to so many of the dialogs that want to transmit, the next one first."""
        lost = [] if self.stalled else list(islice(self.lost, most))
        return chain(lost, self.waiting.first(most - len(lost)))

    @property
    def wants_turns(self) -> bool:
        """Tell whether any dialog wants to transmit."""
        return bool(self.waiting or (self.lost and not self.stalled))


class Flows:
    """The flows of a partition; ``limit`` messages are in flight in each before others wait.

    Whoever commits what the flows transmit may change the limit.
    """

    def __init__(self, limits: Limits, limit: int = UNLIMITED) -> None:
        self.limit = limit
        self._limits = limits
        self._flows: dict[str, Flow] = {}
        self._in_flight: dict[DialogKey, int] = {}

    def of(self, dialog: Dialog) -> Flow:
        """Return the flow that a dialog belongs to."""
        return self.named(dialog.far_service)

    def named(self, service: str) -> Flow:
        """Return the flow towards a service."""
        flow = self._flows.get(service)
        if flow is None:
            flow = self._flows[service] = Flow()
        return flow

    def room(self, flow: Flow, now: int) -> int:
        """Return how many messages may be added to what is in flight."""
        limit = min(PROBES, self.limit) if flow.stalled else self.limit
        if flow.in_flight < limit:
            return limit - flow.in_flight
        return max(1, limit // SHARE) if now >= flow.added_at + EVERY else 0

    def turn(self, most: int, now: int) -> Iterator[DialogKey]:
        """Yield up to ``most`` dialogs that may transmit now, one of each flow by turns."""
        wanting = [flow for flow in self._flows.values() if flow.wants_turns]
        turns = zip_longest(*(flow.turns(min(most, self.room(flow, now))) for flow in wanting))
        yield from islice((key for keys in turns for key in keys if key is not None), most)

    def has_turn(self, now: int) -> bool:
        """Tell whether any dialog may transmit now."""
        return any(f.wants_turns and self.room(f, now) > 0 for f in self._flows.values())

    @property
    def waits(self) -> bool:
        """Tell whether any dialog wants to transmit, now or when there is room."""
        return any(f.wants_turns for f in self._flows.values())

    # --- what was committed ----------------------------------------------------------------------

    def note(
        self, key: DialogKey, before: Dialog | None, dialog: Dialog, now: int, *, hurried: bool
    ) -> None:
        """Take notice of a dialog that was committed; ``hurried``: it has retried at its turn."""
        flow = self.of(dialog)
        is_retrying = dialog.is_retrying
        if before is not None:
            self._judge(flow, before, dialog, now)
        elif is_retrying:  # as it was found at the start
            flow.stalled = True
        counts = hurried or not (is_retrying or dialog.status)
        self._count(key, flow, dialog.transmitted[0] - dialog.acknowledged[0] if counts else 0)
        if dialog.has_room(self._limits):
            flow.waiting.put(key, dialog.next_position)
        else:
            flow.waiting.drop(key)
        if is_retrying and not hurried and (flow.stalled or key in flow.lost):
            flow.lost[key] = None  # one that is there keeps its turn
        else:
            flow.lost.pop(key, None)

    def forget(self, key: DialogKey, dialog: Dialog) -> None:
        """Take notice that a dialog is gone."""
        flow = self.of(dialog)
        self._count(key, flow, 0)
        flow.waiting.drop(key)
        flow.lost.pop(key, None)
        if len(self._flows) > MOST and not (flow.in_flight or flow.waiting or flow.lost):
            del self._flows[dialog.far_service]

    def _judge(self, flow: Flow, before: Dialog, dialog: Dialog, now: int) -> None:
        """Find out whether anything gets through."""
        if dialog.acknowledged > before.acknowledged and dialog.discarded_from is None:
            flow.acknowledged_at, flow.stalled = now, False
        elif before.retry_at is None or dialog.state is State.CD:
            return
        elif dialog.attempt > before.attempt:
            tried_at = before.retry_at - self._limits.retry_after(before.attempt)
            flow.stalled = flow.stalled or flow.acknowledged_at <= tried_at

    def _count(self, key: DialogKey, flow: Flow, count: int) -> None:
        flow.in_flight += count - self._in_flight.pop(key, 0)
        if count:
            self._in_flight[key] = count
