"""A conversation's history as it really goes: two machines, their applications, a lossy channel.

What was accepted and enqueued is noted while it happens; the state is the machines' own. Nothing is
ever lost in it, so a ledger that misses something is wrong.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from streams.errors import ConversationEvent, EventKind
from streams.protocol import (
    ERROR,
    Effect,
    Enqueue,
    EnqueueError,
    Flag,
    Header,
    Journey,
    Message,
    Report,
    SendError,
    State,
    Transmit,
)
from streams.report import Accepted, Delivered, Ending, Endings, EndpointKey, Side
from tests.protocol.build import CONVERSATION
from tests.protocol.build import Side as Machine
from tests.protocol.pair import END, Pair

FAIL = b"Error"
PLACES = ("ServerA/DatabaseA", "ServerB/DatabaseB")
ENDS = (EndpointKey(PLACES[0], CONVERSATION, True), EndpointKey(PLACES[1], CONVERSATION, False))


@dataclass(slots=True)
class History(Pair):
    """A pair whose applications may also end WITH ERROR and WITH CLEANUP, and outlive dialogs."""

    end_kinds: dict[EndpointKey, Ending] = field(default_factory=dict)
    errors: dict[EndpointKey, int] = field(default_factory=dict)
    events: dict[EndpointKey, int] = field(default_factory=dict)

    def end(self, who: int) -> None:
        """END CONVERSATION."""
        Pair.end(self, who)
        self._ended(who, Ending.PLAIN)

    def fail(self, who: int) -> None:
        """END CONVERSATION WITH ERROR."""
        self._state(who, FAIL, lambda side: side.ends(with_error=True))
        self._ended(who, Ending.WITH_ERROR)

    def clean_up(self, who: int) -> None:
        """END CONVERSATION WITH CLEANUP."""
        if self.parties[who].exists:
            self.take(who, self._machine(who).cleans_up())
            self._ended(who, Ending.WITH_CLEANUP)

    def take(self, who: int, effects: list[Effect]) -> None:
        """Note the Errors, too, that are put into a queue, and the events of their ends."""
        for effect in effects:
            if isinstance(effect, EnqueueError):
                self.errors[ENDS[who]] = -effect.number
            elif isinstance(effect, Enqueue) and effect.header.type == ERROR:
                self.errors[ENDS[who]] = 1 if effect.header.sequenced else -8462
            elif isinstance(effect, SendError):
                self.channel.append((1 - who, self._broker_error(who, effect)))
            elif isinstance(effect, Report) and ends_in_error(effect):
                self.events.setdefault(ENDS[who], int(effect.error))
        Pair.take(self, who, [e for e in effects if not isinstance(e, EnqueueError | SendError)])

    def _ended(self, who: int, how: Ending) -> None:
        """Note an END that was taken, as the reader of commands does."""
        side = self._machine(who)
        taken = self.parties[who].exists and side.refused is None
        if taken and self.end_kinds.get(ENDS[who]) is not Ending.WITH_ERROR:
            self.end_kinds[ENDS[who]] = how
        side.refused = None

    def _machine(self, who: int) -> Machine:
        return self.parties[who].side

    def _message(self, who: int, effect: Transmit) -> Message:
        message = Pair._message(self, who, effect)
        if message.body != FAIL:
            return message
        header = message.header._replace(type=ERROR, flags=Flag.ERROR | Flag.SKIPS)
        return message._replace(header=header)

    def _broker_error(self, who: int, effect: SendError) -> Message:
        """Return the answer to a message for an endpoint that was ended WITH CLEANUP."""
        assert effect.number == 8462, "there is no other broker here, and no other refusal"
        dialog, flags = self._machine(who).dialog, Flag.ERROR | Flag.UNSEQUENCED
        header = Header(uuid.UUID(int=who), ERROR, 0, self.now, dialog.expires_at, flags)
        journey = Journey(16, self.now + 60_000, effect.attempt, self.now)
        return Message(CONVERSATION, dialog.parties, header, journey, FAIL)

    # --- the input of the ledger -----------------------------------------------------------------

    def accepted(self) -> list[Accepted]:
        """Return the messages of both sides."""
        return [
            Accepted(ENDS[who], identity(who, sequence), sequence, body)
            for who, party in enumerate(self.parties)
            for sequence, body in enumerate(party.said)
            if body not in (END, FAIL)
        ]

    def delivered(self) -> list[Delivered]:
        """Return what is in both queues."""
        return [
            Delivered(
                *(CONVERSATION, who == 1, identity(1 - who, sequence), sequence, body),
                *(PLACES[who], sequence, 0, (), 0),
            )
            for who, party in enumerate(self.parties)
            for sequence, body in enumerate(b for b in party.queue if b not in (END, FAIL))
        ]

    def sides(self) -> list[Side]:
        """Return what the state says."""
        return [
            Side(
                ENDS[who],
                dialog.state.name,
                PLACES[1 - who] if dialog.locked else None,
                dialog.acknowledged[0],
                dialog.discarded_from,
                dialog.closed_at is not None and dialog.closed_at >= dialog.expires_at,
                dialog.deaf_from,
                frozenset(number for number, _ in dialog.parked if number >= 0),
                dialog.send_sequence,
                dialog.received[0],
            )
            for who, party in enumerate(self.parties)
            if party.exists
            for dialog in [party.side.dialog]
        ]

    def endings(self) -> Endings:
        """Return how it came to its end."""
        ended = {ENDS[who] for who, party in enumerate(self.parties) if END in party.queue}
        return Endings(self.end_kinds, self.errors, ended, events=self.events)

    def over(self) -> bool:
        """Tell whether both endpoints are closed."""
        return all(p.side.dialog.state is State.CD for p in self.parties if p.exists)


def ends_in_error(report: Report) -> bool:
    """Tell whether an event reports that its endpoint ended in error, by the reader's rules."""
    ended = bool(report.error) or report.subclass in (
        ConversationEvent.ERROR_RECEIVED,
        ConversationEvent.BROKER_ERROR_RECEIVED,
    )
    return report.kind is EventKind.CONVERSATION and ended


def identity(who: int, sequence: int) -> uuid.UUID:
    """Return the id of a message of one side."""
    return uuid.UUID(int=1_000_000 * (who + 1) + sequence)
