"""Both sides of a conversation, and a channel between them that loses, repeats and reorders."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field

from streams.protocol import (
    Acknowledgement,
    Effect,
    Enqueue,
    Flag,
    Header,
    Journey,
    Limits,
    Message,
    SendAck,
    SendError,
    State,
    Transmit,
)

from .build import CONVERSATION, LIFETIME, START, Frame, Side, initiator, target

END = b"EndDialog"


@dataclass(slots=True)
class Party:
    """One side with its application: what it said, and what its queue holds."""

    side: Side
    exists: bool = True
    said: list[bytes] = field(default_factory=list)
    queue: list[bytes] = field(default_factory=list)

    @property
    def closed(self) -> bool:
        """Tell whether nothing can happen here any more."""
        return self.exists and self.side.dialog.state is State.CD


@dataclass(slots=True)
class Pair:
    """An initiator (0), a target (1) that its first frame creates, and what is between them."""

    limits: Limits
    now: int = START
    channel: list[tuple[int, Frame]] = field(default_factory=list)
    parties: list[Party] = field(default_factory=list)

    def __post_init__(self) -> None:
        near, far = initiator(limits=self.limits), target(limits=self.limits)
        near.dialog.expires_at = far.dialog.expires_at = START + 1_000 * LIFETIME
        self.parties = [Party(near), Party(far, exists=False)]

    # --- applications ----------------------------------------------------------------------------

    def send(self, who: int) -> None:
        """SEND, where the state allows it: bodies of one fragment and of several."""
        number = len(self.parties[who].said)
        body = b"%d:%d" % (who, number) + b"." * (7 * (number % 3))
        self._state(who, body, lambda side: side.sends(size=len(body)))

    def end(self, who: int) -> None:
        """END CONVERSATION, where the state allows it."""
        self._state(who, END, Side.ends)

    def _state(self, who: int, body: bytes, statement: Callable[[Side], list[Effect]]) -> None:
        party = self.parties[who]
        if not party.exists:
            return
        party.said.append(body)
        effects = statement(party.side)
        if party.side.refused is not None:
            party.said.pop()
            party.side.cmd_end -= 1
        self.take(who, effects)

    # --- the channel -----------------------------------------------------------------------------

    def deliver(self, at: int, *, keep: bool = False) -> None:
        """Deliver any of the frames that are on their way; ``keep``: it will arrive once more."""
        to, frame = self.channel[at] if keep else self.channel.pop(at)
        party = self.parties[to]
        if not party.exists:
            if not isinstance(frame, Message):
                return
            party.exists = True
            party.side.dialog.state = State.CO if frame.header.after == (1, 0) else State.SI
        self.take(to, party.side.receives(frame))

    def lose(self, at: int) -> None:
        """Lose one of the frames that are on their way."""
        self.channel.pop(at)

    def wait(self, milliseconds: int) -> None:
        """Let time pass for both."""
        self.now += milliseconds
        for who, party in enumerate(self.parties):
            party.side.now = self.now
            if party.exists:
                self.take(who, party.side.waits(0))

    def heal(self) -> None:
        """Deliver everything, and wait for whatever is due, until both are at rest."""
        for _ in range(2_000):
            if self.channel:
                self.deliver(0)
                continue
            # A closed target that asks, ever more rarely, is at rest.
            due = [p.side.dialog.retry_at for p in self.parties if p.exists and not p.closed]
            times = [t for t in due if t is not None]
            if not times:
                return
            self.wait(max(0, min(times) - self.now))
        raise AssertionError("the two sides never come to rest")

    def take(self, who: int, effects: list[Effect]) -> None:
        """Put what is to be sent on its way, and what is to be enqueued into the queue."""
        for effect in effects:
            if isinstance(effect, Enqueue):
                self.parties[who].queue.append(effect.body)
            elif isinstance(effect, Transmit):
                self.channel.append((1 - who, self._message(who, effect)))
            elif isinstance(effect, SendAck):
                parties = self.parties[who].side.dialog.parties
                frame = Acknowledgement(CONVERSATION, parties, effect.ack)
                self.channel.append((1 - who, frame))
            else:
                assert not isinstance(effect, SendError), "there is no other broker here"

    def _message(self, who: int, effect: Transmit) -> Message:
        party = self.parties[who]
        body = party.said[effect.position]
        flags = Flag.END if body == END else Flag.NONE
        identity = uuid.UUID(int=effect.position)
        expires, (at, count) = party.side.dialog.expires_at, (effect.fragment, effect.fragments)
        header = Header(identity, "", effect.sequence, START, expires, flags, at, count)
        size = -(-len(body) // count)
        body = body[at * size : (at + 1) * size]
        journey = Journey(16, self.now + 60_000, effect.attempt, self.now)
        return Message(CONVERSATION, party.side.dialog.parties, header, journey, body)
